package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/modules/gossip"
	"ulnet/cmd/internal/modules/health"
	"ulnet/cmd/internal/modules/zone"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// TestManyPeers: the list of peers has the peers that need attention, and the numbers count all
// peers.
func TestManyPeers(t *testing.T) {
	spec.Covers(t, "OP-65")
	var p Peers
	for i := range 20_000 {
		s := lnet.PeerSnapshot{NID: nid.MustParse(fmt.Sprintf("10.%d.%d.1@tcp", i/250, i%250)), State: "up", Health: 1000}
		switch i {
		case 15_000:
			s.State = "down"
		case 3:
			s.Health = 10
		case 19_999:
			s.Queued, s.Parked = 2, 1
		}
		p.add(&s)
		if len(p.List) >= 2*MaxRows {
			t.Fatalf("%d peers are kept", len(p.List))
		}
	}
	p.List = first(p.List, comparePeers)
	if p.Total != 20_000 || p.Down != 1 || p.Unwell != 1 || p.Waiting != 3 || len(p.List) != MaxRows {
		t.Errorf("%d of %d peers, %d down, %d unwell, %d waiting", len(p.List), p.Total, p.Down, p.Unwell, p.Waiting)
	}
	for i, want := range []string{"10.60.0.1@tcp", "10.0.3.1@tcp", "10.79.249.1@tcp", "10.0.0.1@tcp", "10.0.1.1@tcp"} {
		if got := p.List[i].NID.String(); got != want {
			t.Errorf("peer %d is %s, want %s", i, got, want)
		}
	}
}

// TestRecent: the latest events are kept, the latest first, with a bounded text of what they are
// about.
func TestRecent(t *testing.T) {
	spec.Covers(t, "OP-65")
	var r Recent
	for i := range 10 * maxEvents {
		r.Tell(fmt.Sprint("event ", i), nil)
	}
	if list := r.list(); len(list) != maxEvents || list[0].Event != "event 999" || cap(r.events) > 2*maxEvents {
		t.Errorf("%d events, %d kept, the first is %+v", len(list), cap(r.events), list[0])
	}
	at := time.Unix(1, 0)
	for _, c := range []struct {
		record any
		about  string
	}{
		{gossip.Change{Time: at, NID: nid.MustParse("10.0.0.1@tcp")}, "10.0.0.1@tcp"},
		{gossip.Change{Time: at}, ""},
		{&zone.Event{Time: at}, ""},
		{&health.Event{Time: at, Client: "id", Name: "fast"}, "fast"},
		{&health.Event{Time: at, Client: "id"}, "id"},
		{&health.Event{Time: at, Name: strings.Repeat("ä", 500)}, strings.Repeat("ä", maxAbout-1) + "…"},
	} {
		r.Tell("x", c.record)
		if got := r.list()[0]; got.About != c.about || !got.Time.Equal(at) {
			t.Errorf("%+v, want %q", got, c.about)
		}
	}
}

// TestBranches: the tree of a group has this node as its root. Large groups, and groups without this node,
// have no tree.
func TestBranches(t *testing.T) {
	var members []nid.NID
	for i := range MaxTree + 1 {
		members = append(members, nid.MustParse(fmt.Sprintf("10.0.0.%d@tcp", i+1)))
	}
	var got []int
	for i, b := range branchesOf(members[:8], members[2], "k-nomial 2") {
		if b.NID != members[i] {
			t.Errorf("rank %d is %v", i, b.NID)
		}
		got = append(got, b.Parent)
	}
	if want := []int{6, 0, -1, 2, 2, 4, 2, 6}; !slices.Equal(got, want) {
		t.Errorf("parents %d, want %d", got, want)
	}
	for _, c := range []struct {
		members []nid.NID
		tree    string
	}{{members, "k-nomial 2"}, {members[3:5], "k-nomial 2"}, {members[:8], "oak"}} {
		if list := branchesOf(c.members, members[2], c.tree); list != nil {
			t.Errorf("%d members, %s: %v", len(c.members), c.tree, list)
		}
	}
}

// TestStateAsJSON: each type of a state has a form in JSON.
func TestStateAsJSON(t *testing.T) {
	id := nid.MustParse("10.0.0.1@tcp")
	s := State{
		NIs: []NI{{NID: id}}, Peers: Peers{List: []Peer{{NID: id, Via: id}}}, Routes: Routes{List: []Route{{Gateway: id}}},
		Gossip: &Gossip{Self: id, Participants: []Participant{{NID: id}}}, Zone: &Zone{List: []Member{{}}, Census: []Census{{}}},
		Servers: &Servers{Masters: []Master{{NID: id}}, List: []ClientNode{{NID: id}, {NID: id, Master: id}}}, Client: &Client{},
		Collectives: &Collectives{Groups: []CollectiveGroup{{}}, List: []Collective{{}}}, Multicast: []Group{{}}, Events: []Event{{}}, Capture: &Capture{},
	}
	text, err := json.Marshal(&s)
	if err != nil {
		t.Fatal(err)
	}
	p := New(func() *State { return &s }, Interval)
	if got := get(t, p, "/state").Body.String(); got != string(text)+"\n" {
		t.Errorf("%s\nwant %s", got, text)
	}
}
