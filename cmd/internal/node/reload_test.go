package node_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

// loaded reads a configuration file with a text.
func loaded(t *testing.T, text string) *config.Loaded {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lnetd.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set := pflag.NewFlagSet("lnetd", pflag.ContinueOnError)
	flags := config.AddFlags(set)
	if err := set.Parse([]string{"--config", file}); err != nil {
		t.Fatal(err)
	}
	l, err := flags.Load(false)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// startLoaded starts a node with a configuration.
func startLoaded(t *testing.T, l *config.Loaded) *node.Node {
	t.Helper()
	n, err := node.New(node.Config{Config: l.Config})
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

// freePort returns a line of a configuration with a port that is free on three addresses.
func freePort(t *testing.T) string {
	t.Helper()
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.81"), netip.MustParseAddr("127.0.0.82"), netip.MustParseAddr("127.0.0.83"))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("accept_port: %d\n", port)
}

// rails returns a configuration with two NIs, the second one with its own peer_credits.
func rails(port, credits string) string {
	return port + `net:
  - net type: tcp
    local NI(s):
      - nid: 127.0.0.81@tcp
  - net type: tcp1
    local NI(s):
      - nid: 127.0.0.82@tcp1
        tunables:
          peer_credits: ` + credits + "\n"
}

// TestReloadKeepsOtherNIs: a reload that changes a tunable of one NI starts this NI again. Another NI
// keeps its connections.
func TestReloadKeepsOtherNIs(t *testing.T) {
	spec.Covers(t, "OP-6")
	port := freePort(t)
	from, to := loaded(t, rails(port, "8")), loaded(t, rails(port, "16"))
	n := startLoaded(t, from)
	peer := startLoaded(t, loaded(t, port+"networks: tcp(127.0.0.83),tcp1(127.0.0.83)\n"))
	const pings = 10 // of each NI: more messages than a connection has that is made during the reload
	for i := range 2 * pings {
		target := []string{"127.0.0.81@tcp", "127.0.0.82@tcp1"}[i%2]
		if _, err := peer.Ping(t.Context(), node.PingRequest{Target: nid.ProcessID{NID: nid.MustParse(target), PID: nid.LustrePID}, Timeout: waitLimit}); err != nil {
			t.Fatal(err)
		}
	}
	before, other := connections(t, n, "tcp"), conns(t, n, "tcp1")
	if len(before) == 0 || !slices.ContainsFunc(other, func(c drivers.Conn) bool { return c.RxMessages >= pings }) {
		t.Fatalf("connections %q and %+v", before, other)
	}
	done, err := n.Reload(t.Context(), from, to)
	if err != nil || len(done) != 2 {
		t.Fatalf("%q, %v", done, err)
	}
	if s := n.Status(); s.NIs[1].Tunables.PeerCredits != 8 || s.NIs[2].Tunables.PeerCredits != 16 {
		t.Errorf("peer_credits %d and %d", s.NIs[1].Tunables.PeerCredits, s.NIs[2].Tunables.PeerCredits)
	}
	after := connections(t, n, "tcp")
	for _, c := range before {
		if !slices.Contains(after, c) {
			t.Errorf("connections %q, had %q", after, before)
		}
	}
	for _, c := range conns(t, n, "tcp1") { // the peer may have opened one from the same port again
		if c.RxMessages >= pings {
			t.Errorf("the NI that was started again still has the connection %+v", c)
		}
	}
}

// connections lists the connections of a network by their types and addresses.
func connections(t *testing.T, n *node.Node, net string) (list []string) {
	t.Helper()
	for _, c := range conns(t, n, net) {
		list = append(list, c.Type+" "+c.Local+" "+c.Remote)
	}
	return list
}

// conns lists the connections of a network.
func conns(t *testing.T, n *node.Node, net string) (list []drivers.Conn) {
	t.Helper()
	c, err := n.Connections(node.ConnectionsRequest{Net: net})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Peers {
		list = append(list, p.Conns...)
	}
	return list
}

// full is a configuration with something of every kind that a reload changes.
const full = `routes: tcp8 127.0.0.8@tcp; tcp9 2 127.0.0.8@tcp
peer:
  - primary nid: 127.0.0.7@tcp
    peer ni:
      - nid: 127.0.0.7@tcp
      - nid: 127.0.0.7@tcp1
  - primary nid: 127.0.0.6@tcp
udsp:
  - src: tcp
    priority: 1
  - dst: tcp1
    priority: 2
faults: [loss 1%, latency 1ms, 'pause 1h']
lnet_retry_count: 4
lnet_transaction_timeout: 5
lnet_health_sensitivity: 50
lnet_peer_discovery_disabled: 1
router_ping_timeout: 7
lnet_numa_range: 3
routing: {enable: 1, tiny: 100}
`

// other differs from full in everything.
const other = `routes: tcp7 127.0.0.8@tcp; tcp9 3 127.0.0.8@tcp
peer:
  - primary nid: 127.0.0.7@tcp
    peer ni:
      - nid: 127.0.0.7@tcp
      - nid: 127.0.0.7@tcp2
  - primary nid: 127.0.0.5@tcp
udsp:
  - dst: tcp1
    priority: 3
  - src: tcp
    priority: 1
faults: [loss 2%, latency 1ms, 'partition 127.0.0.1@tcp | 127.0.0.2@tcp']
lnet_retry_count: 1
lnet_transaction_timeout: 2
lnet_health_sensitivity: 0
lnet_numa_range: 4
routing: {tiny: 200}
`

// gateways has routes whose gateways are addresses of the node itself.
const gateways = "routes: tcp8 127.0.0.83@tcp; tcp9 127.0.0.82@tcp5\n"

// TestReload: after a reload, a node has the same state as a node that has started with the new
// configuration. A setting that a command has changed stays.
func TestReload(t *testing.T) {
	spec.Covers(t, "OP-6")
	port := freePort(t)
	for name, test := range map[string]struct{ from, to string }{
		"everything added":    {"networks: tcp(127.0.0.81)\n", "networks: tcp(127.0.0.81)\n" + full},
		"everything removed":  {"networks: tcp(127.0.0.81)\n" + full, "networks: tcp(127.0.0.81)\n"},
		"everything changed":  {"networks: tcp(127.0.0.81)\n" + full, "networks: tcp(127.0.0.81),tcp5(127.0.0.82)\n" + other},
		"and back":            {"networks: tcp(127.0.0.81),tcp5(127.0.0.82)\n" + other, "networks: tcp(127.0.0.81)\n" + full},
		"the same NI":         {"networks: tcp(127.0.0.81)\n", port + rails("", "8")[:strings.Index(rails("", "8"), "  - net type: tcp1")]},
		"another network":     {"networks: tcp(127.0.0.81)\n" + full, "networks: tcp1(127.0.0.81)\n"},
		"gateway from now on": {"networks: tcp(127.0.0.81)\n" + gateways, "networks: tcp(127.0.0.81),tcp5(127.0.0.82),tcp(127.0.0.83)\n" + gateways},
		"gateway no more":     {"networks: tcp(127.0.0.81),tcp5(127.0.0.82),tcp(127.0.0.83)\n" + gateways, "networks: tcp(127.0.0.81)\n" + gateways},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(test.to, port) {
				test.to = port + test.to
			}
			from, to := loaded(t, port+test.from), loaded(t, test.to)
			n := startLoaded(t, from)
			if err := n.Set(node.Setting{Name: "max_interfaces", Value: 99}); err != nil {
				t.Fatal(err)
			}
			if _, err := n.Reload(t.Context(), from, to); err != nil {
				t.Fatal(err)
			}
			got := state(t, n)
			if err := n.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			fresh := startLoaded(t, to)
			if err := fresh.Set(node.Setting{Name: "max_interfaces", Value: 99}); err != nil {
				t.Fatal(err)
			}
			if want := state(t, fresh); got != want {
				t.Errorf("after the reload\n%s\nafter a start\n%s", got, want)
			}
		})
	}
}

// state returns the configuration and the faults of a node.
func state(t *testing.T, n *node.Node) string {
	t.Helper()
	f := n.Status().Faults.Plan
	var rules []string
	for _, r := range f.Rules {
		rules = append(rules, fmt.Sprint(r.Match, r.Effect))
	}
	slices.Sort(rules)
	return exported(t, n, (*tree.Tree).Saved) + fmt.Sprintf("faults: %q %v %v", rules, f.Partition, f.Paused)
}

// TestReloadFails: if one change fails, all others are taken back, and the error has the line.
func TestReloadFails(t *testing.T) {
	spec.Covers(t, "OP-7")
	port := freePort(t)
	from := loaded(t, port+"networks: tcp(127.0.0.81)\n"+full)
	n := startLoaded(t, from)
	before := state(t, n)
	for text, want := range map[string]string{
		"networks: tcp(127.0.0.82),tcp1(no-such-if)\n" + other:                             "lnetd.yaml:2: add network tcp1(no-such-if): ",
		"networks: tcp(127.0.0.81)\n" + strings.ReplaceAll(other, "loss 2%", tooManyRules): "lnetd.yaml:15: inject fault ",
		"networks: tcp(127.0.0.82),tcp(127.0.0.8),tcp1(no-such-if)\n" + full:               "lnetd.yaml:2: add network tcp1(no-such-if): ",
	} {
		done, err := n.Reload(t.Context(), from, loaded(t, port+text))
		if err == nil || !strings.Contains(err.Error(), want) || len(done) != 0 {
			t.Errorf("done %q, error %v, want %q", done, err, want)
		}
		if after := state(t, n); after != before {
			t.Errorf("after the failure\n%s\nbefore\n%s", after, before)
		}
	}
	if _, err := n.Reload(t.Context(), from, loaded(t, port+"networks: tcp(127.0.0.82)\n")); err != nil {
		t.Errorf("a valid reload after these: %v", err)
	}
}

// tooManyRules are more fault rules than a node takes.
var tooManyRules = strings.Repeat("loss 3%, ", 1024) + "loss 3%"

// TestReloadKeepsCommands: a reload leaves what commands have changed as it is, unless the same
// setting has changed in the configuration.
func TestReloadKeepsCommands(t *testing.T) {
	spec.Covers(t, "OP-6")
	port := freePort(t)
	from := loaded(t, port+"networks: tcp(127.0.0.81),tcp1(127.0.0.82)\n"+full)
	to := loaded(t, port+"networks: tcp(127.0.0.81),tcp1(127.0.0.82)\n"+full+"alive_router_check_interval: 9\n")
	n := startLoaded(t, from)
	_, removed := n.RemoveNet(t.Context(), node.RemoveRequest{Net: "tcp1"})
	for _, err := range []error{
		removed,
		n.AddNetworks(node.AddRequest{Networks: "tcp2(127.0.0.82)"}),
		n.RemoveRoute(node.RemoveRouteRequest{Net: "tcp8", Gateway: "127.0.0.8@tcp"}),
		n.AddRoutes(node.AddRoutesRequest{Nets: []string{"tcp6"}, Gateways: []string{"127.0.0.9@tcp"}, Hops: 1, Sensitivity: 1}),
		n.RemovePeer(node.RemovePeerRequest{Primary: nid.MustParse("127.0.0.6@tcp")}),
		n.Set(node.Setting{Name: "retry_count", Value: 2}),
		n.RemoveUDSP(node.RemoveUDSP{Index: 0}),
		n.EndFault(node.EndFault{Rules: true}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := state(t, n)
	done, err := n.Reload(t.Context(), from, to)
	if want := []string{"alive_router_check_interval: 60 -> 9"}; err != nil || !slices.Equal(done, want) {
		t.Errorf("done %q, %v, want %q", done, err, want)
	}
	if after := state(t, n); after != strings.ReplaceAll(before, "alive_router_check_interval: 60", "alive_router_check_interval: 9") {
		t.Errorf("after the reload\n%s\nbefore\n%s", after, before)
	}
	// The reload succeeds although a command has already removed items that are not in the new configuration.
	if _, err := n.Reload(t.Context(), to, loaded(t, port+"networks: tcp(127.0.0.81)\n")); err != nil {
		t.Error(err)
	}
}

// TestReloadWithoutLNet: while LNet is not configured on the node, a reload changes settings only.
// The networks of the new configuration come when LNet is configured again.
func TestReloadWithoutLNet(t *testing.T) {
	spec.Covers(t, "OP-6")
	port := freePort(t)
	from, to := loaded(t, port+"networks: tcp(127.0.0.81)\n"), loaded(t, port+"networks: tcp1(127.0.0.82)\nlnet_retry_count: 3\n")
	n := startLoaded(t, from)
	if _, err := n.Configure(t.Context(), node.ConfigureRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Reload(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if s := n.Status(); len(n.NIDs()) != 0 || s.Health.RetryCount != 3 {
		t.Errorf("NIDs %v, retry count %d", n.NIDs(), s.Health.RetryCount)
	}
	if _, err := n.Configure(t.Context(), node.ConfigureRequest{Up: true, All: true}); err != nil {
		t.Fatal(err)
	}
	if got := n.NIDs(); len(got) != 1 || got[0] != nid.MustParse("127.0.0.82@tcp1") {
		t.Errorf("NIDs %v", got)
	}
}

// TestReloadIP2Nets: if the new configuration has ip2nets, which chooses networks by the addresses of the host, a
// reload starts the chosen networks, as a start of the daemon does.
func TestReloadIP2Nets(t *testing.T) {
	spec.Covers(t, "OP-6")
	port := freePort(t)
	from, to := loaded(t, port+"networks: tcp(127.0.0.81)\n"), loaded(t, port+"ip2nets: tcp5(127.0.0.82) 127.*.*.*\n")
	n := startLoaded(t, from)
	if _, err := n.Reload(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if got := n.NIDs(); len(got) != 1 || got[0] != nid.MustParse("127.0.0.82@tcp5") || n.Status().Networks != "tcp5(127.0.0.82)" {
		t.Errorf("NIDs %v, networks %s", got, n.Status().Networks)
	}
}

// TestReloadAfterShutdown: a reload of a node that has stopped fails, and does not hang.
func TestReloadAfterShutdown(t *testing.T) {
	port := freePort(t)
	from, to := loaded(t, port+"networks: tcp(127.0.0.81)\n"), loaded(t, port+"networks: tcp(127.0.0.82)\n"+full)
	n := startLoaded(t, from)
	if err := n.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Reload(t.Context(), from, to); !errors.Is(err, syscall.ESHUTDOWN) {
		t.Errorf("%v, want ESHUTDOWN", err)
	}
}

// TestReloadManyRoutes: a reload adds and removes thousands of routes, each with a line of its own, and
// takes the removal back. Each list is one change of the table: with one change for each route the work
// would grow with the square of their number, and not end in the time of a test.
func TestReloadManyRoutes(t *testing.T) {
	spec.Covers(t, "OP-6", "OP-7")
	const many = route.MaxRoutes / 4
	nets := "networks: tcp(127.0.0.81)"
	port := freePort(t)
	none := loaded(t, port+nets+"\n")
	n := startLoaded(t, none)
	list := fmt.Sprintf("routes: 'tcp[1-%d] 127.0.0.9@tcp'\n", many)
	to := loaded(t, port+nets+"\n"+list)
	done, err := n.Reload(t.Context(), none, to)
	if err != nil || len(done) != many || done[6] != "add route tcp7 127.0.0.9@tcp" || len(n.RoutesNow()) != many {
		t.Fatalf("%d lines, %.200v, %d routes", len(done), err, len(n.RoutesNow()))
	}
	if _, err := n.Reload(t.Context(), to, loaded(t, port+nets+",tcp7(no-such-if)\n")); err == nil || !strings.Contains(err.Error(), "add network tcp7(no-such-if)") || len(n.RoutesNow()) != many {
		t.Errorf("after a reload that failed, %.200v, there are %d routes", err, len(n.RoutesNow()))
	}
	done, err = n.Reload(t.Context(), to, none)
	if err != nil || len(done) != many || len(n.RoutesNow()) != 0 {
		t.Errorf("%d lines, %.200v, %d routes are left", len(done), err, len(n.RoutesNow()))
	}
}
