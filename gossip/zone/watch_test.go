package zone

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// nth returns the id of a node.
func nth(i int) ID { return MustParseID(fmt.Sprintf("n%d=10.0.0.%d@tcp", i, i)) }

// TestAgentShorten: MS-9, MS-10: when shorten has merged the events that wait for a slow
// listener, Joined and Left still alternate for each node, and the latest change of its
// attributes is left.
func TestAgentShorten(t *testing.T) {
	spec.Covers(t, "MS-9", "MS-10")
	event := func(k EventKind, i int, inc uint64, keys ...string) Event {
		return Event{Kind: k, ID: nth(i), Version: Version{Inc: inc, Minor: 1}, Keys: keys}
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

// TestAgentSlowListener: the size of the queue for a listener that never returns is bounded by
// the size of the zone, however much happens: nodes come and go, and their attributes get other
// keys all the time.
func TestAgentSlowListener(t *testing.T) {
	q := &queue{most: queueWeight}
	tell := func(e Event) { q.Push(told{e, 1}) }
	list := make([]Attribute, 100)
	tell(Event{Kind: Joined, ID: nth(1), Version: Version{Inc: 1, Minor: 1}})
	for i := range 20_000 {
		key := strconv.Itoa(i)
		tell(Event{Kind: AttributesChanged, ID: nth(1), Keys: []string{key}, Attributes: list})
		tell(Event{Kind: Joined, ID: nth(2), Version: Version{Inc: uint64(i + 1), Minor: 1}})
		tell(Event{Kind: Suspected, ID: nth(2)})
		tell(Event{Kind: Left, ID: nth(2), Version: Version{Inc: uint64(i + 1), Minor: 1}})
		have := 0
		for k := range q.events {
			have += weight(&q.events[k])
		}
		if have != q.weight || have > queueWeight || cap(q.events) > 2*queueWeight {
			t.Fatalf("after %d rounds %d events wait, of weight %d, noted as %d", i, len(q.events), have, q.weight)
		}
	}
	q.events = shorten(q.events)
	if len(q.events) != 2 || q.events[0].Kind != Joined || len(q.events[1].Keys) != maxUnited || q.events[1].Keys[maxUnited-1] != "19999" {
		t.Errorf("%d events are left, with %d keys", len(q.events), len(q.events[len(q.events)-1].Keys))
	}
}
