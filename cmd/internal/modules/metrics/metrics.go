// Package metrics is the module that shows the counters of the daemon to Prometheus, if the
// setting metrics names an address: /metrics, and /healthz and /readyz for service managers. The
// page for browsers (package page) has the same address, if metrics_page allows it there.
//
// One table (package files *_table.go) has every metric: its name, unit, help and labels, and how
// it is read. The registry, docs/metrics.md, the dashboards and the alert rules in contrib are
// made of it. Nothing is counted for the metrics: a scrape reads the counters that exist, in the
// goroutine of its request, and takes the locks that 'lnetctl peer show' takes, each for the time
// in which one object is copied.
package metrics

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
	"ulnet/cmd/internal/modules/health"
	"ulnet/cmd/internal/modules/rmcast"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/cmd/internal/modules/zone"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/internal/page"
	"ulnet/cmd/internal/statefiles"
	"ulnet/cmd/internal/web"
	"ulnet/cmd/internal/webcapture"
)

// Module serves the metrics of a node and of its other modules.
type Module struct {
	node.Host
	gossip   *gossip.Module
	zone     *zone.Module
	scoll    *scoll.Module
	rmcast   *rmcast.Module
	health   *health.Module
	selftest *selftest.Module

	scrapes func() *scrapes       // returns the page with all metrics, which its first call makes
	server  *web.Server           // HTTP server of the metrics and the page; nil: there is none
	page    *page.Page            // page for browsers; nil: there is none
	capture *webcapture.Capture   // captures of the page; nil without a page
	unwatch func(context.Context) // ends the watch for changes of NIs, routes and peers; nil without a page
}

// New returns the module of a node. It reads the state of the other modules.
func New(host node.Host, g *gossip.Module, z *zone.Module, r *rmcast.Module, s *scoll.Module, h *health.Module, t *selftest.Module) *Module {
	m := &Module{Host: host, gossip: g, zone: z, rmcast: r, scoll: s, health: h, selftest: t}
	m.scrapes = sync.OnceValue(m.newScrapes)
	return m
}

// Exposition are all metrics in the text format of Prometheus.
type Exposition struct {
	Text string `json:"text"` // a line for each value, after the lines with the help and the type of its metric
}

// OpMetrics is the operation on the control socket.
var OpMetrics = control.Question[control.None, Exposition]{Path: "/v1/metrics", Doc: "the metrics as Prometheus scrapes them, also where no address serves them", Long: true}

// Routes returns the operation of the metrics.
func (m *Module) Routes() []control.Route {
	return []control.Route{OpMetrics.Do(control.Ask(m.expose))}
}

// expose returns all metrics.
func (m *Module) expose() (Exposition, error) {
	a, ok := m.scrapes().answers.get()
	if !ok {
		return Exposition{}, cli.Hint(cli.Errnof(syscall.ETIMEDOUT, "the node does not answer"), "'lnetctl profile goroutine --text' shows what it waits for")
	}
	body, err := a.in(text)
	return Exposition{string(body)}, err
}

// Open starts to serve metrics, if the configuration says where.
func (m *Module) Open() error {
	address, err := web.ParseAddress(m.Config.Metrics)
	if err != nil || address == (web.Address{}) {
		return err
	}
	listener, err := address.Listen("metrics", "--metrics", m.Sockets)
	if err != nil {
		return err
	}
	m.server = web.New(web.Config{Hosts: m.Config.MetricsHosts(), Log: m.Log})
	m.server.Handle("/metrics", m.scrapes())
	m.server.Handle("/healthz", healthz(m.Alive))
	m.server.Handle("/readyz", readyz(m.NodeStatus))
	if servesPage(m.Config.MetricsPage, address) {
		m.openPage()
		m.openCapture(address)
	}
	m.server.Start(listener)
	m.announce(address, listener.Addr())
	return nil
}

// Reload implements node.Reloader: it sets the names by which requests may call this host.
func (m *Module) Reload(to *config.Config) {
	if m.server != nil {
		m.server.SetHosts(to.MetricsHosts())
	}
}

// servesPage reports whether the page is served at an address, by the value of metrics_page.
func servesPage(setting string, at web.Address) bool {
	return setting == config.PageOn || setting == config.PageLocal && at.Local()
}

// openPage adds the page for browsers to the server.
func (m *Module) openPage() {
	recent := new(page.Recent)
	m.Handlers.Watch(recent.Tell)
	m.unwatch = recent.Watch(m.Table.Node(), page.WatchInterval)
	from := page.Sources{Host: m.Host, Gossip: m.gossip, Zone: m.zone, Scoll: m.scoll, Rmcast: m.rmcast, Health: m.health, Recent: recent, Capture: m.captureStatus}
	m.page = page.New(from.Read, page.Interval)
	for path, handler := range m.page.Pages() {
		m.server.Handle(path, handler)
	}
}

// announce logs where the metrics are.
func (m *Module) announce(address web.Address, at net.Addr) {
	url := "http://" + at.String() + "/metrics"
	if address.Network == "unix" {
		url = "unix:" + at.String()
	}
	m.Log.Info("serving metrics", slog.String("url", url))
	if !address.Local() {
		m.Log.Warn("every host that reaches the address of metrics can read them, and the page if metrics_page is on", slog.String("url", url))
	}
}

// Close ends the service.
func (m *Module) Close(ctx context.Context) error {
	if m.server == nil {
		return nil
	}
	if m.page != nil {
		m.page.Close() // first, because m.server waits for the streams of the page
		m.unwatch(ctx)
		if err := m.capture.Close(ctx); err != nil {
			m.Log.Warn("metrics", slog.Any("err", err))
		}
	}
	return m.server.Close(ctx)
}

// Keys returns nil: metrics have no keys.
func (m *Module) Keys() *node.Keys { return nil }

// Files returns nil: metrics have no state files.
func (m *Module) Files() *statefiles.Config { return nil }
