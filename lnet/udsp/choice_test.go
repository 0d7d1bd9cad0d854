package udsp

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
)

// world is a node with NIs on tcp and tcp1, a multi-rail peer with NIs on the same nets, and routes to
// tcp9 by two gateways.
type world struct {
	locals map[string]*path.Local
	peers  map[string]*path.Remote
	table  *path.Table
	peer   *path.Peer
}

func newWorld() *world {
	w := &world{locals: map[string]*path.Local{}, peers: map[string]*path.Remote{}}
	var locals []*path.Local
	for _, text := range []string{"10.0.0.1@tcp", "10.0.0.2@tcp", "10.1.0.1@tcp1"} {
		w.locals[text] = &path.Local{NID: nid.MustParse(text)}
		locals = append(locals, w.locals[text])
	}
	var rails []*path.Remote
	for _, text := range []string{"10.0.0.5@tcp", "10.0.0.6@tcp", "10.1.0.5@tcp1"} {
		w.peers[text] = &path.Remote{NID: nid.MustParse(text)}
		rails = append(rails, w.peers[text])
	}
	w.peer = path.NewPeer(true, rails...)
	for _, r := range rails {
		r.SetPeer(w.peer)
	}
	var routes []*path.Gateway
	for _, text := range []string{"10.0.0.7@tcp", "10.0.0.8@tcp"} {
		w.peers[text] = &path.Remote{NID: nid.MustParse(text)}
		routes = append(routes, &path.Gateway{Net: nid.MustParseNet("tcp9"), Router: nid.MustParse(text), NI: w.peers[text]})
	}
	w.peers["10.9.0.5@tcp9"] = &path.Remote{NID: nid.MustParse("10.9.0.5@tcp9")}
	w.table = path.NewTable(locals, routes)
	return w
}

// apply sets the rules of l, as lnet.Node.SetRules does.
func (w *world) apply(l List) {
	for _, n := range w.table.Nets {
		for _, ni := range n.NIs {
			of, net := l.Local(ni.NID)
			ni.SetPriority(of)
			n.SetPriority(net)
		}
	}
	for _, r := range w.peers {
		of, _, prefers := l.Remote(r.NID)
		r.SetPriority(of)
		r.SetPreference(prefers)
	}
	for _, n := range w.peer.Nets {
		_, net, _ := l.Remote(n.NIs[0].NID)
		n.SetPriority(net)
	}
}

// used sends eight messages and counts their sources, destinations and next hops.
func (w *world) used(t *testing.T, to string) map[nid.NID]int {
	t.Helper()
	got := map[nid.NID]int{}
	for seq := range uint64(8) {
		c, err := path.Choose(w.table, &path.Query{Dest: nid.MustParse(to), To: w.peers[to]})
		if err != nil {
			t.Fatal(err)
		}
		hop := w.peers[c.Hop.String()]
		c.Use(hop, seq+1)
		got[c.Local.NID]++
		got[c.Hop]++
	}
	return got
}

// TestChoice: with rules the preferred NI, net or router carries all messages; without them,
// before and after, others carry some too. A failure outweighs a rule.
func TestChoice(t *testing.T) {
	spec.Covers(t, "UD-5", "UD-6", "UD-7", "UD-8", "UD-12")
	for _, c := range []struct {
		name, rule, to string
		carries        string // NI that carries all messages
		fail           func(*world)
	}{
		{"a local net", "src tcp1", "10.0.0.5@tcp", "10.1.0.1@tcp1", func(w *world) { w.locals["10.1.0.1@tcp1"].SetHealth(900) }},
		{"a local NI", "src 10.0.0.2@tcp", "10.0.0.5@tcp", "", nil},
		{"a remote net", "dst tcp1", "10.0.0.5@tcp", "10.1.0.5@tcp1", func(w *world) { w.peers["10.1.0.5@tcp1"].SetHealth(900) }},
		{"a router", "dst tcp9 rte 10.0.0.8@tcp", "10.9.0.5@tcp9", "10.0.0.8@tcp", func(w *world) { w.table.Routes[nid.MustParseNet("tcp9")][1].SetAlive(false) }},
	} {
		w := newWorld()
		if c.carries == "" { // this case has one net with two rails
			w.locals["10.1.0.1@tcp1"].SetDown(true)
			c.carries, c.fail = "10.0.0.2@tcp", func(w *world) { w.locals["10.0.0.2@tcp"].SetHealth(900) }
		}
		all := nid.MustParse(c.carries)
		if got := w.used(t, c.to); got[all] == 8 {
			t.Errorf("%s: without a rule %v", c.name, got)
		}
		w.apply(list(t, c.rule))
		if got := w.used(t, c.to); got[all] != 8 {
			t.Errorf("%s: with the rule %v", c.name, got)
		}
		c.fail(w)
		if got := w.used(t, c.to); got[all] != 0 {
			t.Errorf("%s: when that has failed %v", c.name, got)
		}
	}
}

// TestPreferredLocal: each of two rules names a local NI and the NI of the peer to which its messages go. Messages
// leave by both local NIs, each to the NI that its rule names.
func TestPreferredLocal(t *testing.T) {
	spec.Covers(t, "UD-7")
	w := newWorld()
	w.locals["10.1.0.1@tcp1"].SetDown(true)
	w.apply(list(t, "src 10.0.0.1@tcp dst 10.0.0.5@tcp", "src 10.0.0.2@tcp dst 10.0.0.6@tcp"))
	for seq := range uint64(8) {
		c, err := path.Choose(w.table, &path.Query{Dest: nid.MustParse("10.0.0.5@tcp"), To: w.peers["10.0.0.5@tcp"]})
		if err != nil {
			t.Fatal(err)
		}
		if c.Local.NID.Addr().As4()[3]+4 != c.Dest.Addr().As4()[3] {
			t.Errorf("%v to %v", c.Local.NID, c.Dest)
		}
		c.Use(w.peers[c.Hop.String()], seq+1)
	}
}
