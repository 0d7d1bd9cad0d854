package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestStatus checks the status of a machine, which names states by words (MS-36).
func TestStatus(t *testing.T) {
	spec.Covers(t, "MS-36")
	s := newSolo(t, 8, Config{Threshold: 3, Successors: 3})
	for i := 1; i < 6; i++ {
		s.link(i, v(7, 1))
	}
	s.suspicion(3, 2, v(7, 1))
	s.leave(5, v(7, 1), 9)
	s.give(1, wire.TableData{Owner: s.ref[4], Inc: 7, To: 2, Last: true, Entries: entries(0, 2)})
	st := s.m.Status()
	if st.State != "joined" || st.Members != 5 || st.Gone != 1 || st.Suspects != 1 || st.Links != 4 || st.Version != v(10, 1) {
		t.Errorf("%+v", st)
	}
	if b, err := json.Marshal(&s.m.stats); err != nil || !strings.Contains(string(b), `"OtherLife":`) {
		t.Errorf("a counter has another name than readers of the status know: %s, %v", b, err)
	}
	members := s.m.Members()
	if len(members) != 5 {
		t.Errorf("%+v", members)
	}
	for _, m := range members {
		if want := map[string]int{"n2": 1}[m.ID.Name()]; m.Reports != want || m.Self != (m.ID == testID(0)) || (m.Attributes == 2) != (m.ID == testID(4)) {
			t.Errorf("%+v", m)
		}
	}
	x := s.m.Explain(testID(2))
	if x.State != "member" || x.Link == nil || len(x.Suspicions) != 1 || x.Suspicions[0].Reporter != testID(3) || x.Suspicions[0].Needed != 3 {
		t.Errorf("%+v", x)
	}
	if x := s.m.Explain(testID(5)); x.State != "gone" || x.Gone == nil || x.Gone.Code != 9 || !x.Gone.Orderly {
		t.Errorf("%+v", x)
	}
	if x := s.m.Explain(testID(7)); x.State != "unknown" {
		t.Errorf("%+v", x)
	}
	text, err := json.Marshal(Event{Kind: Left, Cause: Dead, ID: testID(1), Version: v(7, 1)})
	if err != nil || !strings.Contains(string(text), `"event":"left","cause":"dead","id":"n1=10.0.0.2@tcp"`) {
		t.Errorf("%s, %v", text, err)
	}
	for k := range wire.Kinds {
		if name := k.String(); name == "" || name == "?" {
			t.Errorf("kind %d is %q", k, name)
		}
	}
	if wire.Kind(99).String() != "?" || (wire.Echo|wire.Later).String() != "echo,later" || wire.Busy.String() != "busy" {
		t.Error("names")
	}
}

// TestClashesAreToldOnceAMinute: messages in which another node uses this member's id are all counted, and one a minute
// is reported. Any node that can send to the member could otherwise fill its log.
func TestClashesAreToldOnceAMinute(t *testing.T) {
	s := newSolo(t, 4, Config{})
	told := 0
	const times = 100
	for range times {
		s.alive(0, wire.Version{Inc: s.m.ver.Inc, Minor: s.m.ver.Minor + 1})
		for _, e := range s.out.Events {
			if e.Kind == Clash {
				told++
			}
		}
		s.now += time.Second
	}
	if told != 2 || s.m.stats.Clashes != times {
		t.Errorf("told %d of %d clashes in %d s", told, s.m.stats.Clashes, times)
	}
}

// TestClash: two ids with one name are reported, and both are members.
func TestClash(t *testing.T) {
	s := newSolo(t, 4, Config{})
	other, err := wire.NewID("n2", nid.MustParse("10.9.9.9@tcp"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.m.cfg.Table.Add(other)
	if err != nil {
		t.Fatal(err)
	}
	s.alive(2, v(7, 1))
	s.want(Event{Kind: Joined, Node: s.ref[2], Version: v(7, 1)})
	s.update(wire.Lists{Alive: []wire.Member{{Node: r, Version: v(3, 1)}}})
	s.want(Event{Kind: Joined, Node: r, Version: v(3, 1)}, Event{Kind: Clash, Node: r, Version: v(3, 1)})
	if s.m.Len() != 3 {
		t.Errorf("%d members", s.m.Len())
	}
}
