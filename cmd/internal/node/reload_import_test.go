package node_test

import (
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
)

// ownNet is the configuration whose nodes import another file.
const ownNet = "networks: tcp2(127.0.0.83)\n"

// TestReloadRefusesImport: a reload refuses an imported file that cannot be applied when LNet is configured again, in
// the same words, and changes nothing.
func TestReloadRefusesImport(t *testing.T) {
	spec.Covers(t, "OP-7")
	const gateway, ni = "gateway: 127.0.0.9@tcp\n", "      - nid: 127.0.0.82@tcp1\n"
	const isNode, noNI = "the gateway is this node", "No interface configured on the same net as gateway"
	net, route := aFile[:strings.Index(aFile, "route:")], aFile[strings.Index(aFile, "route:"):strings.Index(aFile, "peer:")]
	const onNew = "net:\n  - net type: tcp3\n    local NI(s):\n      - nid: 127.0.0.84@tcp3\n"
	byNew := "route:\n  - {net: o2ib1, gateway: 127.0.0.84@tcp3}\n"
	for name, test := range map[string]struct{ file, want string }{
		"NID of a command's NI":   {onNew + byNew, isNode},
		"that network below":      {byNew + onNew, noNI},
		"own NID":                 {strings.Replace(aFile, gateway, "gateway: 127.0.0.81@tcp\n", 1), isNode},
		"own NID of lnetd's file": {strings.Replace(aFile, gateway, "gateway: 127.0.0.83@tcp2\n", 1), isNode},
		"NID of a new NI":         {strings.NewReplacer(gateway, "gateway: 127.0.0.84@tcp3\n", ni, "      - nid: 127.0.0.84@tcp3\n", "net type: tcp1", "net type: tcp3").Replace(aFile), isNode},
		"no such network":         {strings.Replace(aFile, gateway, "gateway: 127.0.0.9@tcp9\n", 1), noNI},
		"network that is removed": {strings.NewReplacer(gateway, "gateway: 127.0.0.9@tcp1\n", ni, "      - nid: 127.0.0.82@tcp3\n", "net type: tcp1", "net type: tcp3").Replace(aFile), noNI},
		"network below":           {route + net, noNI},
		"one of two routes":       {strings.Replace(aFile, "route:\n", "route:\n  - {net: o2ib1, gateway: 127.0.0.9@tcp}\n  - {net: o2ib2, gateway: 127.0.0.9@tcp9}\n", 1), noNI},
		"NI without an interface": {strings.Replace(aFile, ni, "      - tunables: {peer_credits: 9}\n", 1), "cannot add LNet NI"},
		"section of a command":    {aFile + "ping:\n  - primary nid: 127.0.0.9@tcp\n", "invalid key 'ping'"},
	} {
		t.Run(name, func(t *testing.T) {
			port := freePort(t)
			from, bad := importing(t, port+ownNet, aFile), importing(t, port+ownNet, test.file)
			n := startImporting(t, from, nil)
			if err := n.Import(t.Context()); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(test.file, onNew) {
				if err := n.AddNetworks(node.AddRequest{Networks: "tcp3(127.0.0.84)"}); err != nil {
					t.Fatal(err)
				}
			}
			before := state(t, n)
			done, err := n.Reload(t.Context(), from, bad)
			if err == nil || len(done) > 0 {
				t.Errorf("a reload does %q, error %v", done, err)
			}
			if after := state(t, n); after != before {
				t.Errorf("after the refusal\n%s\nbefore\n%s", after, before)
			}
			if again := configuredWith(t, n, from, bad); err != nil && (again.Error() != err.Error() || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error of a reload\n%v\nwhen LNet is configured\n%v\nwant %q", err, again, test.want)
			}
			if hint := cli.HintOf(err); !strings.Contains(hint, "reload") {
				t.Errorf("hint %q", hint)
			}
		})
	}
}

// configuredWith returns the error of a node on which LNet is configured again with the other file.
func configuredWith(t *testing.T, n *node.Node, from, to *config.Loaded) error {
	t.Helper()
	takeDown(t, n)
	if _, err := n.Reload(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	_, err := n.Configure(t.Context(), upAll)
	if err == nil {
		t.Fatal("LNet is configured")
	}
	return err
}

// TestReloadTakesImport: a reload takes an imported file with routes by gateways on networks that the reload adds, that
// a command has added, or whose interface does not exist, so that the NID of this node there is unknown.
func TestReloadTakesImport(t *testing.T) {
	spec.Covers(t, "OP-6")
	port := freePort(t)
	const gone = "net:\n  - net type: tcp4\n    local NI(s):\n      - interfaces: {0: no-such-if}\n"
	by := func(gateway string) string { return "route:\n  - {net: o2ib, gateway: " + gateway + "}\n" }
	for name, test := range map[string]struct {
		from, to string
		want     string
	}{
		"new network":            {"", strings.Replace(aFile, "127.0.0.9@tcp", "127.0.0.9@tcp1", 1), "o2ib"},
		"network of a command":   {"", by("127.0.0.9@tcp5"), "o2ib"},
		"own NID of a command":   {"", by("127.0.0.85@tcp5"), ""},
		"no interface any more":  {gone, gone + by("127.0.0.9@tcp4"), ""},
		"net that is local":      {"", "route:\n  - {net: tcp2, gateway: 127.0.0.9@tcp5}\n", ""},
		"route is there already": {by("127.0.0.9@tcp2"), by("127.0.0.9@tcp2"), "o2ib"},
	} {
		t.Run(name, func(t *testing.T) {
			from := importing(t, port+ownNet, test.from)
			n := startImporting(t, from, nil)
			if test.from != gone {
				if err := n.Import(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := n.AddNetworks(node.AddRequest{Networks: "tcp5(127.0.0.85)"}); err != nil {
				t.Fatal(err)
			}
			if _, err := n.Reload(t.Context(), from, importing(t, port+ownNet, test.to)); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, r := range n.RoutesNow() {
				got += r.Net
			}
			if got != test.want {
				t.Errorf("routes to %q, want %q", got, test.want)
			}
		})
	}
}

// TestReloadLargeNIDs: LNet is configured with large NIDs, without the networks of the configuration. A reload takes an
// imported file with a route by a NID of 4 bytes, because at the next start the NIs do not have large ones.
func TestReloadLargeNIDs(t *testing.T) {
	spec.Covers(t, "OP-6")
	text := freePort(t) + "networks: tcp2(lo)\n"
	from := importing(t, text, "")
	n := startImporting(t, from, nil)
	takeDown(t, n)
	if _, err := n.Configure(t.Context(), node.ConfigureRequest{Up: true, Large: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Reload(t.Context(), from, importing(t, text, "route:\n  - {net: o2ib, gateway: 127.0.0.9@tcp2}\n")); err != nil {
		t.Error(err)
	}
}
