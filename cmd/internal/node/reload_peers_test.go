package node_test

import (
	"slices"
	"strings"
	"testing"

	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// peersConfig returns the section peer of a configuration. Each text has the NIDs of a peer on tcp, as the ends of
// their addresses, the primary one first.
func peersConfig(peers ...string) string {
	text := "peer:\n"
	for _, ids := range peers {
		for i, id := range strings.Fields(ids) {
			if i == 0 {
				text += "  - primary nid: 127.0.0." + id + "@tcp\n    peer ni:\n"
			}
			text += "      - nid: 127.0.0." + id + "@tcp\n"
		}
	}
	return text
}

// configuredPeers returns the configured peers of a node in the form of peersConfig, in order.
func configuredPeers(n *node.Node) (list []string) {
	for _, p := range n.Peers(nid.NID{}, node.MaxPeerPage).Known {
		var ids []string
		for _, ni := range p.NIs {
			ids = append(ids, strings.TrimSuffix(strings.TrimPrefix(ni.NID.String(), "127.0.0."), "@tcp"))
		}
		slices.Sort(ids[1:])
		list = append(list, strings.Join(ids, " "))
	}
	slices.Sort(list)
	return list
}

// TestReloadMovesNIDs: a NID moves from one configured peer to another in a reload. If a later change fails, it moves
// back.
func TestReloadMovesNIDs(t *testing.T) {
	spec.Covers(t, "OP-6", "OP-7")
	base := freePort(t) + "networks: tcp(127.0.0.81)\n"
	for name, c := range map[string]struct{ from, to []string }{
		"two peers become one":     {[]string{"11", "21"}, []string{"11 21"}},
		"one peer becomes two":     {[]string{"11 21"}, []string{"21", "11"}},
		"to an earlier peer":       {[]string{"11", "21 22"}, []string{"11 22", "21"}},
		"to a later peer":          {[]string{"11 12", "21"}, []string{"11", "21 12"}},
		"exchange":                 {[]string{"11 12", "21 22"}, []string{"11 22", "21 12"}},
		"another primary NID":      {[]string{"11 12"}, []string{"12 11"}},
		"primary NIDs change ends": {[]string{"11 12", "21 22"}, []string{"21 11", "12 22"}},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := loaded(t, base+peersConfig(c.from...)), loaded(t, base+peersConfig(c.to...))
			n := startLoaded(t, from)
			before := configuredPeers(n)
			fails := loaded(t, base+peersConfig(c.to...)+"faults: ["+tooManyRules+"]\n")
			if _, err := n.Reload(t.Context(), from, fails); err == nil || !strings.Contains(err.Error(), "inject fault") || strings.Contains(err.Error(), "not taken back") {
				t.Errorf("error %.300v, want one of faults", err)
			}
			if got := configuredPeers(n); !slices.Equal(got, before) {
				t.Errorf("after a failure the peers are %q, want %q", got, before)
			}
			if _, err := n.Reload(t.Context(), from, to); err != nil {
				t.Error(err)
			}
			if got, want := configuredPeers(n), configuredPeers(startLoaded(t, loaded(t, freePort(t)+"networks: tcp(127.0.0.82)\n"+peersConfig(c.to...)))); !slices.Equal(got, want) {
				t.Errorf("peers %q, want %q", got, want)
			}
		})
	}
}

// TestReloadPeersKeepsCommands: a reload that changes a peer keeps the NIDs that commands have added to it, and
// does not add those that they have removed. What commands have removed already is no error.
func TestReloadPeersKeepsCommands(t *testing.T) {
	spec.Covers(t, "OP-6")
	base := freePort(t) + "networks: tcp(127.0.0.81)\n"
	from, to := loaded(t, base+peersConfig("11 12 13", "21", "31")), loaded(t, base+peersConfig("11 14", "21"))
	n := startLoaded(t, from)
	id := func(end string) nid.NID { return nid.MustParse("127.0.0." + end + "@tcp") }
	for _, err := range []error{
		n.AddPeer(node.AddPeerRequest{Primary: id("11"), NIDs: []nid.NID{id("19")}}),
		n.RemovePeer(node.RemovePeerRequest{Primary: id("11"), NIDs: []nid.NID{id("12")}}),
		n.RemovePeer(node.RemovePeerRequest{Primary: id("21")}),
		n.RemovePeer(node.RemovePeerRequest{Primary: id("31")}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	done, err := n.Reload(t.Context(), from, to)
	if want := []string{"remove NIDs of peer 127.0.0.11@tcp", "change peer 127.0.0.11@tcp"}; err != nil || !slices.Equal(done, want) {
		t.Errorf("done %q, %v, want %q", done, err, want)
	}
	if got, want := configuredPeers(n), []string{"11 14 19"}; !slices.Equal(got, want) {
		t.Errorf("peers %q, want %q", got, want)
	}
}

// TestReloadPeerNotMultiRail: a peer that is no longer multi-rail keeps one NID, even if a command has added others. If
// a later change fails, all come back.
func TestReloadPeerNotMultiRail(t *testing.T) {
	spec.Covers(t, "OP-6", "OP-7")
	base := freePort(t) + "networks: tcp(127.0.0.81)\n"
	plain := strings.Replace(peersConfig("11"), "    peer ni:", "    Multi-Rail: false\n    peer ni:", 1)
	from := loaded(t, base+peersConfig("11 12"))
	n := startLoaded(t, from)
	id := nid.MustParse("127.0.0.11@tcp")
	if err := n.AddPeer(node.AddPeerRequest{Primary: id, NIDs: []nid.NID{nid.MustParse("127.0.0.19@tcp")}}); err != nil {
		t.Fatal(err)
	}
	failsAndKeeps(t, n, from, loaded(t, base+plain+"faults: ["+tooManyRules+"]\n"), "inject fault")
	if _, err := n.Reload(t.Context(), from, loaded(t, base+plain)); err != nil {
		t.Error(err)
	}
	if p := n.PeersOf(id).Known[0]; len(p.NIs) != 1 || p.Flags.Has(lnet.PeerMultiRail) {
		t.Errorf("the peer is %+v", p)
	}
}
