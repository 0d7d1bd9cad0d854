package health

import (
	"math"
	"testing"
	"time"
)

// TestConnectAhead: CH-A1: the number of a life is a wall clock, or one more than
// the number before. One that is years ahead would leave no number for the lives
// to come, and is refused, from the client as from who lies about it.
func TestConnectAhead(t *testing.T) {
	const wall = uint64(1_800_000_000_000_000_000)
	h := newHarness(t, func(c *ServerConfig) { c.Incarnation = wall })
	for _, life := range []uint64{math.MaxUint64, math.MaxUint64 - 1, wall + uint64(lifeMargin) + 1} {
		h.connect(life, otherA, 1)
		h.want("reject:ahead")
	}
	if n := h.s.Stats().Rejected[Ahead]; n != 3 {
		t.Errorf("%d refused", n)
	}
	h.advance(time.Second) // the time goes on
	forged := wall + uint64(lifeMargin+time.Second)
	h.connect(forged+1, otherA, 1)
	h.want("reject:ahead")
	h.connect(forged, otherA, 1)
	h.wantState("connected 1831622401000000000 10.0.0.2@tcp/1")
	h.connect(wall, otherA, 1) // the client itself learns which number is too low, and takes the next
	h.want("reject:stale")
	next := h.last(Reject).Incarnation + 1
	h.connect(next, otherA, 1)
	if got, _ := h.s.Client(testClient); got.Incarnation != forged+1 {
		t.Errorf("%+v", got)
	}
	// Where nobody knows the id it is the time alone that counts, and that has gone on.
	h = newHarness(t, func(c *ServerConfig) { c.Incarnation = wall + uint64(2*time.Second) })
	h.connect(next, otherA, 1)
	h.want("save connected accept")
	// What was evicted counts as well.
	h.evicted(otherA, wall+uint64(2*lifeMargin))
	h.connect(wall+uint64(2*lifeMargin)+1, otherA, 1)
	h.want("save connected accept")
	// And there is an end of numbers.
	h = newHarness(t, func(c *ServerConfig) { c.Incarnation = math.MaxUint64 - 5 })
	h.connect(math.MaxUint64, otherA, 1)
	h.want("save connected accept")
}

// TestClientLastLife: word of a life after which there is none is not believed.
func TestClientLastLife(t *testing.T) {
	h := newClientHarness(t, me, otherA)
	asked, to := h.sent, h.to
	h.answer(0, Message{Kind: Reject, Code: Stale, Incarnation: math.MaxUint64})
	h.want("")
	h.sent, h.to = asked, to
	h.answer(0, Message{Kind: Accept})
	h.want("attached master-chosen")
	h.from(h.c.master, Message{Kind: Notice, Code: Global, Incarnation: math.MaxUint64})
	h.want("")
	if st := h.c.Stats(); st.Stray != 2 {
		t.Errorf("%+v", st)
	}
}

// TestDoubtMaster: a client that doubts its master asks it at once, and once.
func TestDoubtMaster(t *testing.T) {
	h := newClientHarness(t, me, otherA)
	master := h.settled()
	h.now += time.Second
	h.step(ClientInput{Kind: Doubt, Server: master})
	h.want("", Ping)
	h.step(ClientInput{Kind: Doubt, Server: master})
	h.want("")
	h.from(master, Message{Kind: Pong, Code: NotConnected, Life: 7})
	if h.told != "dropped:not-connected master-lost:not-connected" {
		t.Errorf("told %q", h.told)
	}
}

// TestTwoWithOneID: CH-A1: of two nodes that use one id the one that came first
// ends, instead of each evicting the other until servers answer flapping.
func TestTwoWithOneID(t *testing.T) {
	for seed := range uint64(10) {
		w := populated(t, 300+seed, 4)
		first := w.clients[0]
		first.kill()
		first.start()
		w.run(10 * time.Second)
		second := w.add(0, 1, 2, 3, 4)
		second.kill()
		second.name, second.life = first.name, seed%2*2 // with a lower number, or a higher one
		second.start()
		w.run(2 * time.Minute)
		if n := first.count(Superseded); n != 1 || first.count(Evicted) != 0 {
			w.fail("the first was superseded %d times, evicted %d", n, first.count(Evicted))
		}
		if st := second.m.Status(); st.State != "settled" || second.count(Evicted) != 0 || len(w.holders(second)) != 5 {
			w.fail("the second is %+v", st)
		}
		for _, s := range w.servers {
			if n := s.m.Stats().Rejected[Flapping]; n != 0 {
				t.Errorf("flapping: %d", n)
			}
		}
	}
}
