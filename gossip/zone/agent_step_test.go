package zone

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// TestAgentLoss: MS-A30: all messages that fail with a connection are one loss, also
// together with the end of the connection: a peer is suspected when what was sent
// after that fails, too.
func TestAgentLoss(t *testing.T) {
	s := newSolo(t, 4, Config{})
	for i := 1; i < 4; i++ {
		s.link(i, v(1, 1))
	}
	st := newStepper(s.m, []nid.Net{nid.MustParseNet("tcp")})
	var out effects
	step := func(in stepInput) {
		out.Reset()
		s.now += time.Millisecond
		st.Step(s.now, in, &out)
	}
	step(stepInput{}) // something is sent
	sent := out.step
	failed := func(step uint64) stepInput {
		return stepInput{Input: Input{Kind: Failed}, about: testID(1), step: step}
	}
	link := func() *link { return s.m.links.get(s.ref[1]) }

	step(failed(sent))
	if !link().probing || countKind(out.Sends, Heartbeat) != 1 || out.to[0].nid != testID(1).Endpoints()[0] {
		t.Fatalf("a failure leads to no probe: %+v", out.Sends)
	}
	probe := out.step
	step(failed(sent))
	step(stepInput{Input: Input{Kind: Failed, Local: true}, about: testID(1), step: probe})
	if l := link(); l == nil || l.state != up {
		t.Fatal("messages of one connection count as two losses")
	}
	step(stepInput{Input: Input{Kind: Down}, about: testID(1)})
	step(failed(probe)) // it was on the connection that has just ended
	if l := link(); l == nil || l.state != up || !l.probing {
		t.Fatal("the end of a connection and a message on it count as two losses")
	}
	step(failed(out.step - 1))
	if s.m.stats.Filed == 0 && (link() == nil || link().state == up) {
		t.Fatal("a probe that failed is no loss")
	}
}

// TestAgentShorten: MS-9, MS-10: what a slow listener is not told leaves joins and
// leaves in turn, and the latest attributes.
func TestAgentShorten(t *testing.T) {
	event := func(k EventKind, i int, inc uint64, keys ...string) Event {
		return Event{Kind: k, ID: testID(i), Version: v(inc, 1), Keys: keys}
	}
	got := shorten([]Event{
		event(Left, 1, 1),
		event(Joined, 2, 1),
		event(AttributesChanged, 2, 1, "a", "b"),
		event(Joined, 1, 2),
		event(AttributesChanged, 1, 2, "x"),
		event(Suspected, 2, 1),
		event(Left, 1, 2),
		event(AttributesChanged, 3, 1, "y"),
		event(Left, 3, 1),
		event(AttributesChanged, 2, 1, "c", "a"),
		event(Joined, 1, 3),
	})
	want := []Event{event(Left, 1, 1), event(Joined, 2, 1), event(Left, 3, 1), event(AttributesChanged, 2, 1, "b", "c", "a"), event(Joined, 1, 3)}
	same := slices.EqualFunc(got, want, func(a, b Event) bool {
		return a.Kind == b.Kind && a.ID == b.ID && a.Version == b.Version && slices.Equal(a.Keys, b.Keys)
	})
	if !same {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// stillClock never lets time pass.
type stillClock struct{ machine.Clock }

func (stillClock) AfterFunc(time.Duration, func()) machine.Timer { return nil }

// TestAgentSlowListener: what waits for a listener that never comes back is bounded by
// what there is in the zone, however much happens: nodes come and go, and their
// attributes get other names all the time.
func TestAgentSlowListener(t *testing.T) {
	u := &watcher{clock: stillClock{}, most: queueWeight}
	list := make([]Attribute, 100)
	u.tell(Event{Kind: Joined, ID: testID(1), Version: v(1, 1)})
	for i := range 20_000 {
		key := strconv.Itoa(i)
		u.tell(Event{Kind: AttributesChanged, ID: testID(1), Keys: []string{key}, Attributes: list})
		u.tell(Event{Kind: Joined, ID: testID(2), Version: v(uint64(i+1), 1)})
		u.tell(Event{Kind: Suspected, ID: testID(2)})
		u.tell(Event{Kind: Left, ID: testID(2), Version: v(uint64(i+1), 1)})
		have := 0
		for k := range u.queue {
			have += weight(&u.queue[k])
		}
		if have != u.weight || have > queueWeight || cap(u.queue) > 2*queueWeight {
			t.Fatalf("after %d rounds %d events wait, of weight %d, noted as %d", i, len(u.queue), have, u.weight)
		}
	}
	u.queue = shorten(u.queue)
	if len(u.queue) != 2 || u.queue[0].Kind != Joined || len(u.queue[1].Keys) != maxUnited || u.queue[1].Keys[maxUnited-1] != "19999" {
		t.Errorf("%d events are left, with %d keys", len(u.queue), len(u.queue[len(u.queue)-1].Keys))
	}
}
