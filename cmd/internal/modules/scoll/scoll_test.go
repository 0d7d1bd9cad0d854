package scoll

import (
	"slices"
	"testing"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/modules/gossip"
	"ulnet/cmd/internal/modules/rmcast"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

func nidAt(s string) nid.NID { return nid.MustParse(s + "@tcp") }

// newModule returns the module of a node with a configuration. It can be opened only if the
// configuration is that of a whole node.
func newModule(cfg *config.Config) *Module {
	host := node.Host{Config: cfg}
	g := gossip.New(host)
	return New(host, g, rmcast.New(host, g.SeenView()))
}

func setsOf(t *testing.T, texts ...string) (list []nid.Set) {
	t.Helper()
	for _, s := range texts {
		set, err := nid.ParseSet(s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, set)
	}
	return list
}

// TestMayAct: by default no root may act; an allowed root may, directly and through parents
// that may forward its requests.
func TestMayAct(t *testing.T) {
	root, relay, other := nidAt("10.0.0.1"), nidAt("10.0.0.2"), nidAt("10.0.0.9")
	roots := setsOf(t, "10.0.0.1@tcp")
	for _, test := range []struct {
		name         string
		admin        config.Admin
		groups       []config.Group
		gossip       []nid.NID
		root, parent nid.NID
		want         bool
	}{
		{"by default", config.Admin{}, nil, nil, root, root, false},
		{"a root itself", config.Admin{AllowRoots: roots}, nil, nil, root, root, true},
		{"another root", config.Admin{AllowRoots: roots}, nil, nil, other, other, false},
		{"another root through a listed one", config.Admin{AllowRoots: roots}, nil, nil, other, root, false},
		{"through anybody", config.Admin{AllowRoots: roots}, nil, nil, root, relay, false},
		{"through another root", config.Admin{AllowRoots: setsOf(t, "10.0.0.[1-2]@tcp")}, nil, nil, root, relay, true},
		{"through a relay", config.Admin{AllowRoots: roots, AllowRelays: setsOf(t, "10.0.0.[2-3]@tcp")}, nil, nil, root, relay, true},
		{"through no relay", config.Admin{AllowRoots: roots, AllowRelays: setsOf(t, "10.0.0.3@tcp")}, nil, []nid.NID{relay}, root, relay, false},
		{"through a participant of gossip", config.Admin{AllowRoots: roots}, nil, []nid.NID{relay}, root, relay, true},
		{"through a member of a group", config.Admin{AllowRoots: roots}, []config.Group{{NIDs: []nid.NID{relay}}}, nil, root, relay, true},
		{"through no member", config.Admin{AllowRoots: roots}, []config.Group{{NIDs: []nid.NID{relay}}}, []nid.NID{relay}, root, other, false},
	} {
		m := newModule(&config.Config{Gossip: config.Gossip{NIDs: test.gossip}})
		c := &collective{m: m, cfg: config.Scoll{Groups: test.groups, Admin: test.admin}}
		if got := c.mayAct(test.root, test.parent); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// TestMeasurement: SC-125: the time of the last arrival is given by the root's clock, whatever
// the members' clocks show. Its error bound is that of the best comparison of clocks.
func TestMeasurement(t *testing.T) {
	spec.Covers(t, "SC-125")
	self, near, far := nidAt("10.0.0.1"), nidAt("10.0.0.2"), nidAt("10.0.0.3")
	m := measurement{target: &target{c: &collective{self: self}, group: &namedGroup{name: "g"}}, clocks: map[nid.NID][]clockAt{}}
	const ahead, behind = 5 * time.Second, -7 * time.Second
	for i, bound := range []time.Duration{100, 40, 90} { // error bounds in µs of the clock comparisons of three rounds; the second round has the smallest
		sent := int64(i) * int64(10*time.Millisecond)
		reading := func(after, offset time.Duration, bound time.Duration, wrong time.Duration) []byte {
			a := admin.Reading{Received: sent + int64(after+offset), Offset: offset + wrong, Bound: bound}
			return a.AppendTo(nil)
		}
		m.take(i, &admin.Outcome{Sent: sent, Nodes: 3, Elapsed: time.Millisecond, Sending: 30 * time.Microsecond, Children: 2, Answers: []admin.Piece{
			{NID: self, Answer: admin.Answer{Data: reading(0, 0, 0, 0)}},
			{NID: near, Answer: admin.Answer{Data: reading(50*time.Microsecond, ahead, 30*time.Microsecond, 0)}},
			{NID: far, Answer: admin.Answer{Data: reading(200*time.Microsecond, behind, bound*time.Microsecond, bound*time.Microsecond/2)}},
		}})
	}
	m.other = []*admin.Outcome{{Sending: 48 * time.Microsecond, Children: 4}}
	r := m.reply()
	for i, last := range r.Last {
		if err := time.Duration(last) - 200*time.Microsecond; err < -time.Duration(r.Bound) || err > time.Duration(r.Bound) {
			t.Errorf("round %d: %v ± %v, want 200µs", i, time.Duration(last), time.Duration(r.Bound))
		}
	}
	// The first and the last round are 10 ms away from the best one, which adds 1 µs of drift.
	if r.Bound != 41_000 || r.Hop != 30_000 || r.Send != 9_000 || r.Members != 3 || r.Recommended != "k-nomial 2" {
		t.Errorf("%+v", r)
	}
}

// TestFill: every member is in exactly one list, whatever answers arrive.
func TestFill(t *testing.T) {
	self := nidAt("10.0.0.1")
	cfg := config.Default()
	c := &collective{m: newModule(&cfg), self: self, cfg: cfg.Scoll}
	ids := []nid.NID{self, nidAt("10.0.0.2"), nidAt("10.0.0.3"), nidAt("10.0.0.4")}
	g, err := c.newGroup("g", "config", ids, scoll.Tree{})
	if err != nil {
		t.Fatal(err)
	}
	b := &target{c: c, group: g, members: g.members, tree: g.tree}
	piece := func(i int, status scoll.Status) admin.Piece {
		return admin.Piece{NID: ids[i], Answer: admin.Answer{Status: status}}
	}
	for _, test := range []struct {
		name      string
		outcome   admin.Outcome
		status    BroadcastStatus
		reached   int
		unreached int
	}{
		{"all", admin.Outcome{Answers: []admin.Piece{piece(0, 0), piece(1, 0), piece(2, 0), piece(3, 0)}}, BroadcastOK, 4, 0},
		{"an error", admin.Outcome{Answers: []admin.Piece{piece(0, 0), piece(1, scoll.EPERM), piece(2, 0), piece(3, 0)}}, BroadcastFailed, 4, 0},
		{"an answer is lost", admin.Outcome{Answers: []admin.Piece{piece(0, 0), piece(1, 0), piece(2, 0)}}, BroadcastIncomplete, 3, 1},
		{"missing, and answered for", admin.Outcome{
			Answers:   []admin.Piece{piece(0, 0), piece(1, 0), piece(2, 0), piece(3, 0)},
			Unreached: []scoll.Unreached{{NID: ids[3], Status: scoll.ETIMEDOUT}},
		}, BroadcastIncomplete, 3, 1},
		{"a stranger", admin.Outcome{Answers: []admin.Piece{
			piece(0, 0), piece(1, 0), piece(2, 0), piece(3, 0), {NID: nidAt("10.9.9.9")},
		}}, BroadcastOK, 4, 0},
		{"not sent", admin.Outcome{Status: scoll.ESTALE, Unreached: []scoll.Unreached{{NID: ids[1], Status: scoll.ESTALE}}}, BroadcastUnsent, 0, 4},
	} {
		var reply BroadcastReply
		b.fill(&reply, admin.Order{Verb: admin.Ping}, &test.outcome)
		if reply.Status != test.status || len(reply.Reached) != test.reached || len(reply.Unreached) != test.unreached {
			t.Errorf("%s: %+v", test.name, reply)
		}
	}
	timedOut := func(i int) scoll.Unreached { return scoll.Unreached{NID: ids[i], Status: scoll.ETIMEDOUT} }
	for _, test := range []struct {
		name string
		live bool
		lost []scoll.Unreached
		want []string
	}{
		{"an inner node and who is below", false, []scoll.Unreached{timedOut(2), timedOut(3)}, []string{"timed out", "below 10.0.0.3@tcp: timed out"}},
		{"for reasons of their own", false, []scoll.Unreached{{NID: ids[2], Status: scoll.EPROTO}, timedOut(3)}, []string{"not understood", "timed out"}},
		{"two leaves", false, []scoll.Unreached{timedOut(1), timedOut(3)}, []string{"timed out", "timed out"}},
		{"in a tree of the living", true, []scoll.Unreached{timedOut(2), timedOut(3)}, []string{"timed out", "timed out"}},
	} {
		var reply BroadcastReply
		b.fill(&reply, admin.Order{Verb: admin.Ping, Live: test.live}, &admin.Outcome{Unreached: test.lost})
		for i, want := range test.want {
			if u := reply.Unreached; !slices.Contains(u, Unreached{test.lost[i].NID, want}) {
				t.Errorf("%s: %+v, want %v: %s", test.name, u, test.lost[i].NID, want)
			}
		}
	}
}
