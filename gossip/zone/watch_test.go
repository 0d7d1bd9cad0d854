package zone

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
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

// stillClock is a clock that stands still.
type stillClock struct{ machine.Clock }

func (stillClock) AfterFunc(time.Duration, func()) machine.Timer { return nil }

// TestAgentSlowListener: the size of the queue for a listener that never returns is bounded by
// the size of the zone, however much happens: nodes come and go, and their attributes get other
// keys all the time.
func TestAgentSlowListener(t *testing.T) {
	u := &watcher{w: &watchers{clock: stillClock{}}, most: queueWeight}
	list := make([]Attribute, 100)
	u.tell(Event{Kind: Joined, ID: nth(1), Version: Version{Inc: 1, Minor: 1}})
	for i := range 20_000 {
		key := strconv.Itoa(i)
		u.tell(Event{Kind: AttributesChanged, ID: nth(1), Keys: []string{key}, Attributes: list})
		u.tell(Event{Kind: Joined, ID: nth(2), Version: Version{Inc: uint64(i + 1), Minor: 1}})
		u.tell(Event{Kind: Suspected, ID: nth(2)})
		u.tell(Event{Kind: Left, ID: nth(2), Version: Version{Inc: uint64(i + 1), Minor: 1}})
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

// TestCloseWaits: Close waits for a running call of a function of Watch, at most until the
// context ends. After Close no such function is called.
func TestCloseWaits(t *testing.T) {
	spec.Covers(t, "MS-112")
	w := new(watchers)
	w.init(machine.RealClock())
	called, release := make(chan struct{}), make(chan struct{})
	calls := 0
	u := &watcher{w: w, most: queueWeight, f: func(Event) {
		calls++
		close(called)
		<-release
	}}
	w.list = []*watcher{u}
	w.tell(&Event{Kind: Joined, ID: nth(1)}, 1)
	<-called
	w.tell(&Event{Kind: Left, ID: nth(1)}, 2)
	w.close()
	why := errors.New("there is no time")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := returned(ctx, w.idle, "a function given to Watch"); !errors.Is(err, why) {
		t.Errorf("%v while a function is being called", err)
	}
	close(release)
	if err := returned(t.Context(), w.idle, "a function given to Watch"); err != nil {
		t.Error(err)
	}
	if calls != 1 {
		t.Errorf("called %d times, the last ones after Close", calls)
	}
}
