//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/health"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/netlab"
)

// agreedWithin bounds the time until servers agree on their clients. A partition takes longest: the
// detection by gossip, T_orphan, and an election.
const agreedWithin = 180 * time.Second

// heldClient is a client in the list of clients.
type heldClient struct {
	Client      string `json:"client"`
	Incarnation uint64 `json:"incarnation"`
	Name        string `json:"name"`
	State       string `json:"state"`
	Master      string `json:"master"`
}

// agreed has, by name of a client, the entry that all servers have of the client.
type agreed map[string]heldClient

// healthDoc is the status of client health.
type healthDoc struct {
	Server struct {
		Quorum  bool           `json:"quorum"`
		Clients int            `json:"clients"`
		Stats   map[string]int `json:"stats"`
	} `json:"server"`
	Client struct {
		State    string   `json:"state"`
		Attached []string `json:"attached"`
	} `json:"client"`
}

// ward has servers and clients on two switches that one cable connects.
type ward struct {
	t                  *testing.T
	on                 network
	nServers, nClients int
	// majority of the servers, and half of the clients, are on the left switch.
	majority, half int

	servers     []*lnetdtest.Daemon
	clients     []*lnetdtest.Daemon
	startServer func(i int) *lnetdtest.Daemon
	trunk       *netlab.Cable
	left        *netlab.Host
}

func (w *ward) nid(i int) string { return w.on.nid(fmt.Sprintf("10.3.0.%d", i+1)) }

func clientName(i int) string { return fmt.Sprintf("client-%02d", i) }

// wardTimes returns short times that are long enough for a busy machine. Gossip takes 3.6 s to detect a
// death. A master evicts a silent client after the time evict, which is longer than these 3.6 s: a master
// that is cut off thus learns so before it evicts clients that the majority has. It is also longer than 3.6 s
// plus the time quorum, after which a server that is cut off evicts its clients. A client chooses another
// master after the time client. The time ping is so short that a server has 1.2 s of this time to answer a
// ping.
func wardTimes() []string {
	unit := 100 * time.Millisecond
	if effort.Race {
		unit = unit * 3 / 2
	}
	return []string{
		"  times:", fmt.Sprintf("    ping: %v", 3*unit), fmt.Sprintf("    client: %v", 15*unit), fmt.Sprintf("    elect: %v", 10*unit),
		fmt.Sprintf("    try: %v", 2*unit), fmt.Sprintf("    evict: %v", 55*unit), fmt.Sprintf("    orphan: %v", 30*unit),
		fmt.Sprintf("    quorum: %v", 10*unit), fmt.Sprintf("    tick: %v", 2*unit),
	}
}

func newWard(t *testing.T, on network) *ward {
	t.Helper()
	return newWardOf(t, on, on.pick(5, 3), on.pick(effort.Of(8, 8, 20), 6))
}

func newWardOf(t *testing.T, on network, nServers, nClients int) *ward {
	t.Helper()
	lab := netlab.New(t)
	w := &ward{t: t, on: on, nServers: nServers, nClients: nClients, left: lab.Switch("left")}
	w.majority, w.half = w.nServers/2+1, w.nClients/2
	right := lab.Switch("right")
	w.trunk = lab.Cable(w.left, "", right, "")
	commands := lnetdtest.Build(t)
	host := func(name, addr string, onLeft bool) *netlab.Host {
		h, at := lab.Host(name), right
		if onLeft {
			at = w.left
		}
		lab.Cable(h, addr+"/24", at, "")
		return h
	}
	start := func(h *netlab.Host, settings ...string) *lnetdtest.Daemon {
		return commands.Start(t, lnetdtest.Config{
			Crowd:    true,
			Networks: on.eth0(), Port: kernelPort, Within: h.Do,
			Settings: append(on.eager(2*time.Second, 100*time.Millisecond, 500*time.Millisecond), settings...),
		})
	}
	all := fmt.Sprintf("['%s']", on.nid(fmt.Sprintf("10.3.0.[1-%d]", w.nServers)))
	var hosts []*netlab.Host
	for i := range w.nServers {
		hosts = append(hosts, host(fmt.Sprintf("server %d", i+1), fmt.Sprintf("10.3.0.%d", i+1), i < w.majority))
	}
	w.startServer = func(i int) *lnetdtest.Daemon {
		return start(hosts[i], append([]string{
			"gossip:", "  interval: 200ms", "  cold_start: 1", "  nids: " + all,
			"scoll:", "  enable: 1", "  rtt: 50ms", "  guard: 600ms",
			"health:", "  server: 1",
		}, wardTimes()...)...)
	}
	for i := range w.nServers {
		w.servers = append(w.servers, w.startServer(i))
	}
	for i := range w.nClients {
		h := host(clientName(i), fmt.Sprintf("10.3.0.%d", 101+i), i < w.half)
		w.clients = append(w.clients, start(h, append([]string{
			"health:", "  client: 1", "  name: " + clientName(i), "  servers: " + all, "  attach: all",
		}, wardTimes()...)...))
	}
	return w
}

// ask asks a daemon's control socket what lnetctl prints as JSON, and decodes it. Tests ask
// hundreds of times, and a start of lnetctl takes as much CPU time as a server in a second.
func (w *ward) ask(d *lnetdtest.Daemon, v any, what string) {
	w.t.Helper()
	var doc any
	var err error
	switch what {
	case "clients":
		doc, err = health.OpClients.Call(w.t.Context(), d.Control(), health.ClientFilter{Limit: health.MaxLimit})
	case "servers":
		doc, err = health.OpServers.Call(w.t.Context(), d.Control(), control.None{})
	default:
		doc, err = health.OpStatus.Call(w.t.Context(), d.Control(), control.None{})
	}
	if err == nil {
		err = recode(doc, v)
	}
	if err != nil {
		w.t.Fatalf("%s: %v\n%s", what, err, d.Log())
	}
}

// recode decodes the JSON of a value into another one.
func recode(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// until waits until the function holds returns true. If it does not in time, the error contains
// the text that the function state returns.
func (w *ward) until(what string, holds func() bool, state func() string) {
	w.t.Helper()
	began, deadline := time.Now(), time.After(agreedWithin)
	for interval := askInterval; !holds(); interval = min(interval*3/2, longAskInterval) {
		select {
		case <-time.After(interval):
		case <-deadline:
			w.t.Fatalf("not %s within %v: %s", what, agreedWithin, state())
		}
	}
	w.t.Logf("%s: after %v", what, time.Since(began).Round(10*time.Millisecond))
}

// agree waits until exactly these clients are connected to all these servers, with the same
// incarnation and the same master everywhere.
func (w *ward) agree(what string, servers, clients []int) (same agreed) {
	w.t.Helper()
	var why string
	w.until(what, func() bool {
		same, why = w.compare(servers, clients)
		return why == ""
	}, func() string { return why })
	return same
}

// compare returns the clients on which the servers agree. If they do not agree, or differ from
// the wanted clients, why describes the difference.
func (w *ward) compare(servers, clients []int) (same agreed, why string) {
	for _, s := range servers {
		var list struct{ Clients []heldClient }
		w.ask(w.servers[s], &list, "clients")
		held := agreed{}
		for _, c := range list.Clients {
			if c.State != "connected" || !slices.ContainsFunc(servers, func(i int) bool { return w.nid(i) == c.Master }) {
				return nil, fmt.Sprintf("server %d holds %+v", s+1, c)
			}
			held[c.Name] = c
		}
		if same == nil {
			same = held
		}
		if !maps.Equal(held, same) {
			return nil, fmt.Sprintf("server %d holds %+v, another %+v", s+1, held, same)
		}
	}
	var want []string
	for _, i := range clients {
		want = append(want, clientName(i))
	}
	if got := slices.Sorted(maps.Keys(same)); !slices.Equal(got, want) {
		return nil, fmt.Sprintf("they hold %v, want %v", got, want)
	}
	return same, ""
}

// wantIncarnations fails the test unless exactly the clients in the list reborn have begun a new
// incarnation since the state before. Any other new incarnation means a wrong eviction.
func (w *ward) wantIncarnations(before, after agreed, reborn ...int) {
	w.t.Helper()
	for name, c := range after {
		again := slices.ContainsFunc(reborn, func(i int) bool { return clientName(i) == name })
		if b, known := before[name]; known && (c.Incarnation > b.Incarnation) != again {
			w.t.Errorf("%s was %+v and is %+v", name, b, c)
		}
	}
}

// numbers returns the numbers below n except the given ones.
func numbers(n int, but ...int) (list []int) {
	for i := range n {
		if !slices.Contains(but, i) {
			list = append(list, i)
		}
	}
	return list
}

// busiest returns the server that is the master of the largest number of clients.
func (w *ward) busiest(now agreed) (server int) {
	count := map[string]int{}
	for _, c := range now {
		count[c.Master]++
	}
	for i := range w.nServers {
		if count[w.nid(i)] > count[w.nid(server)] {
			server = i
		}
	}
	return server
}
