package discovery_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

var errUnplugged = errors.New("test: eth1 has no carrier")

// handClock is a clock that stands still until the test advances it.
type handClock struct {
	now    time.Duration
	timers []*handTimer
}

type handTimer struct {
	at time.Duration
	f  func() // function to call; nil: stopped, or called already
}

func (c *handClock) Now() time.Duration { return c.now }

func (c *handClock) AfterFunc(d time.Duration, f func()) machine.Timer {
	timer := &handTimer{c.now + d, f}
	c.timers = append(c.timers, timer)
	return timer
}

func (t *handTimer) Stop() bool {
	was := t.f != nil
	t.f = nil
	return was
}

// advance lets time pass, and delivers all messages that are sent meanwhile.
func (c *handClock) advance(w *cable, d time.Duration) {
	w.settle()
	for end := c.now + d; c.now < end; c.now = min(end, c.now+100*time.Millisecond) {
		for _, timer := range slices.Clone(c.timers) {
			if f := timer.f; f != nil && timer.at <= c.now {
				timer.f = nil
				f()
				w.settle()
			}
		}
		c.timers = slices.DeleteFunc(c.timers, func(t *handTimer) bool { return t.f == nil })
	}
}

// newRails returns two nodes that know each other. A has two NIs on B's net; second is the second one.
func newRails(t *testing.T) (w *cable, clock *handClock, a, b *node, second *lnet.NI) {
	w, clock = newCable(t), new(handClock)
	w.clock = clock
	a = w.node(discovery.Config{}, nidA)
	second = a.add("10.0.0.101@tcp")
	b = w.node(discovery.Config{}, nidB)
	b.put(nidA, 10)
	w.settle()
	clock.advance(w, time.Second)
	w.log = nil
	return w, clock, a, b, second
}

// statusAt is the status of a NID as a node knows it.
func (n *node) statusAt(id string) wire.Status {
	for _, ni := range n.table.Node().Peer(nid.MustParse(id)).NIs {
		if ni.NID.String() == id {
			return ni.Status
		}
	}
	return wire.StatusInvalid
}

// TestLinkIsTold: an NI whose link goes down is DOWN in ping infos, with the next sequence
// number, and peers get a push at once. The same happens when the link is up again. The push
// does not use the path of a peer's last answer if that path is down.
func TestLinkIsTold(t *testing.T) {
	spec.Covers(t, "NS-1", "NS-2")
	w, _, a, b, second := newRails(t)
	for _, c := range []struct {
		down error
		want wire.Status
	}{{errUnplugged, wire.StatusDown}, {nil, wire.StatusUp}} {
		before := a.agent.Info().Sequence
		second.SetLink(c.down)
		info := a.agent.Info()
		if info.Sequence != before+1 || info.NIs[0].Status != wire.StatusUp || info.NIs[1].Status != c.want {
			t.Errorf("%v: info %+v, want sequence %d and the second NI %v", c.down, info, before+1, c.want)
		}
		w.settle()
		if c.down == nil { // this push may leave from either NI, so the source in the log is replaced by the first one
			w.log[0] = strings.Replace(w.log[0], "10.0.0.101@tcp", nidA, 1)
		}
		w.want("push", "10.0.0.1@tcp PUT 0 64", "10.0.0.2@tcp ACK")
		if got := b.statusAt("10.0.0.101@tcp"); got != c.want {
			t.Errorf("%v: B knows %v, want %v", c.down, got, c.want)
		}
	}
}

// TestFlappingLink: peers are told of a link that goes up and down a hundred times a second
// at a limited rate, and always of its last state.
func TestFlappingLink(t *testing.T) {
	spec.Covers(t, "NS-3")
	w, clock, a, b, second := newRails(t)
	before := a.agent.Stats().Pushes
	const seconds = 5
	for range seconds * 100 {
		second.SetLink(errUnplugged)
		second.SetLink(nil)
		w.settle()
		clock.advance(w, 10*time.Millisecond)
	}
	if pushes := a.agent.Stats().Pushes - before; pushes > 4+seconds+1 {
		t.Errorf("%d pushes in %d s, want a burst of 4 and one a second", pushes, seconds)
	}
	for _, c := range []struct {
		down error
		want wire.Status
	}{{errUnplugged, wire.StatusDown}, {nil, wire.StatusUp}} {
		second.SetLink(c.down)
		clock.advance(w, 3*time.Second)
		if got := b.statusAt("10.0.0.101@tcp"); got != c.want {
			t.Errorf("after %v B knows %v, want %v", c.down, got, c.want)
		}
	}
}
