package node_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/udsp"
)

// hook is called before a socket listens.
type hook func() error

func (h hook) Listen(how net.ListenConfig, local netip.AddrPort) (net.Listener, error) {
	if err := h(); err != nil {
		return nil, err
	}
	return how.Listen(context.Background(), "tcp", local.String())
}

func (h hook) ListenPacket(how net.ListenConfig, local netip.AddrPort) (net.PacketConn, error) {
	if err := h(); err != nil {
		return nil, err
	}
	return how.ListenPacket(context.Background(), "udp", local.String())
}

func (h hook) ListenUnix(path string, fresh func(string) (*net.UnixListener, error)) (*net.UnixListener, error) {
	if err := h(); err != nil {
		return nil, err
	}
	return fresh(path)
}

// startHooked starts a node with a configuration. It calls bind before a socket listens, and
// logs to log.
func startHooked(t *testing.T, l *config.Loaded, bind func() error, log slog.Handler) *node.Node {
	t.Helper()
	n, err := node.New(node.Config{Config: l.Config, Log: slog.New(log), Sockets: hook(bind)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

// TestReloadNotTakenBack: if a change fails and one before it cannot be taken back, the error names
// both, and further reloads are refused, since the node is not as its configuration says.
func TestReloadNotTakenBack(t *testing.T) {
	spec.Covers(t, "OP-7")
	port := freePort(t)
	from, to := loaded(t, rails(port, "8")), loaded(t, rails(port, "16"))
	var taken error
	n := startHooked(t, from, func() error { return taken }, slog.DiscardHandler)
	taken = syscall.EADDRINUSE
	_, err := n.Reload(t.Context(), from, to)
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "not taken back: stop network tcp1(127.0.0.82)") {
		t.Errorf("%v, want what was not taken back", err)
	}
	taken = nil
	if _, err := n.Reload(t.Context(), from, from); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("the next reload: %v, want EBUSY", err)
	}
}

// TestReloadExcludesConfigure: LNet is not taken down on the node in the middle of a reload.
func TestReloadExcludesConfigure(t *testing.T) {
	spec.Covers(t, "OP-6")
	port := freePort(t)
	from, to := loaded(t, port+"networks: tcp(127.0.0.81)\n"), loaded(t, port+"networks: tcp(127.0.0.81),tcp1(127.0.0.82)\npeer: [{primary nid: 127.0.0.7@tcp}]\n")
	meanwhile, down := false, make(chan error, 1)
	var n *node.Node
	n = startHooked(t, from, func() error {
		if meanwhile {
			go func() {
				_, err := n.Configure(t.Context(), node.ConfigureRequest{})
				down <- err
			}()
			for range 1000 {
				runtime.Gosched()
			}
		}
		return nil
	}, slog.DiscardHandler)
	meanwhile = true
	if _, err := n.Reload(t.Context(), from, to); err != nil {
		t.Error(err)
	}
	if err := <-down; err != nil || len(n.NIDs()) != 0 {
		t.Errorf("NIDs %v, error %v", n.NIDs(), err)
	}
}

// onFault is a slog.Handler: a function that is called when the log says that a fault is injected.
type onFault func()

func (f onFault) Enabled(context.Context, slog.Level) bool { return true }
func (f onFault) WithAttrs([]slog.Attr) slog.Handler       { return f }
func (f onFault) WithGroup(string) slog.Handler            { return f }
func (f onFault) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "messages are spoiled on purpose" {
		f()
	}
	return nil
}

// TestReloadBackKeepsCommands: if commands change something while a reload runs, and a later step of
// the reload fails, what the commands changed stays when the reload is taken back.
func TestReloadBackKeepsCommands(t *testing.T) {
	spec.Covers(t, "OP-6", "OP-7")
	base := freePort(t) + "networks: tcp(127.0.0.81)\n"
	from := loaded(t, base+"udsp: [{src: tcp, priority: 1}]\nlnet_transaction_timeout: 20\nrouting: {tiny: 100}\n")
	to := loaded(t, base+"udsp: [{src: tcp, priority: 2}]\nlnet_transaction_timeout: 30\nrouting: {tiny: 200}\nfaults: [loss 1%, "+tooManyRules+"]\n")
	var n *node.Node
	called := false
	n = startHooked(t, from, func() error { return nil }, onFault(func() {
		if called {
			return
		}
		called = true
		for _, err := range []error{
			n.AddUDSP(node.AddUDSP{Rule: udsp.Rule{Dst: udspPattern(t, "tcp3"), Priority: 5}}),
			n.Set(node.Setting{Name: "retry_count", Value: 1}),
			n.Set(node.Setting{Name: "small_buffers", Value: 600}),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	}))
	if _, err := n.Reload(t.Context(), from, to); err == nil || !called {
		t.Fatalf("error %v, commands made: %v", err, called)
	}
	rules, s, r := n.UDSP().Rules, n.Status(), n.Routing()
	if len(rules) != 2 || rules[0].Priority != 1 || rules[1].Priority != 5 {
		t.Errorf("rules %v", rules)
	}
	if s.Health.RetryCount != 1 || s.Health.TransactionTimeout.Seconds() != 20 {
		t.Errorf("health %+v", s.Health)
	}
	if r.Config.Tiny != 100 || r.Config.Small != 600 {
		t.Errorf("buffers %+v", r.Config)
	}
}

// TestReloadBackFindsAdded: if commands meanwhile add an NI and a route that a reload has removed, and a later step of
// the reload fails, both stay when the reload is taken back. It brings back what else it has removed.
func TestReloadBackFindsAdded(t *testing.T) {
	spec.Covers(t, "OP-6", "OP-7")
	port := freePort(t)
	from := loaded(t, port+"networks: tcp(127.0.0.81),tcp1(127.0.0.82)\nroutes: tcp8 127.0.0.9@tcp; tcp9 127.0.0.9@tcp\n")
	to := loaded(t, port+"networks: tcp(127.0.0.81)\nfaults: [loss 1%, "+tooManyRules+"]\n")
	var n *node.Node
	called := false
	n = startHooked(t, from, func() error { return nil }, onFault(func() {
		if called {
			return
		}
		called = true
		for _, err := range []error{
			n.AddNetworks(node.AddRequest{Networks: "tcp1(127.0.0.82)"}),
			n.AddRoutes(node.AddRoutesRequest{Nets: []string{"tcp8"}, Gateways: []string{"127.0.0.9@tcp"}, Hops: -1, Priority: 3, Sensitivity: 1}),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	}))
	if _, err := n.Reload(t.Context(), from, to); err == nil || !called || strings.Contains(err.Error(), "not taken back") {
		t.Errorf("error %v, commands made: %v", err, called)
	}
	var routes []string
	for _, r := range n.RoutesNow() {
		routes = append(routes, fmt.Sprint(r.Net, " ", r.Priority))
	}
	slices.Sort(routes)
	if ids := fmt.Sprint(n.NIDs()); ids != "[127.0.0.81@tcp 127.0.0.82@tcp1]" || !slices.Equal(routes, []string{"tcp8 3", "tcp9 0"}) {
		t.Errorf("NIDs %s, routes %q", ids, routes)
	}
	if _, err := n.Reload(t.Context(), from, from); err != nil {
		t.Errorf("the next reload: %v", err)
	}
}

func udspPattern(t *testing.T, text string) udsp.Pattern {
	t.Helper()
	p, err := udsp.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
