package lnet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestCreditsRandom sends messages of both classes to live, stuck and dead peers in random
// order, and checks all counters after each step. In the end all messages to live peers must
// leave, although those to the others do not.
func TestCreditsRandom(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		w := newCreditWorld(t, seed)
		for range 400 {
			w.step()
			if err := w.check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		w.settle()
		w.end()
		if t.Failed() {
			break
		}
	}
}

// worldPeer is a peer; stuck makes its messages wait, dead ends its connection.
type worldPeer struct {
	id     nid.NID
	dead   bool       // the peer has no connection
	stuck  bool       // none of the peer's messages leaves
	driver []*Message // messages that the driver has
	sent   [2]uint64  // number of messages sent, by class
	came   [2]uint64  // number of the latest message that the driver got, by class
	waited map[*Message]bool
}

// creditWorld is a node; it is itself the driver of the node's NI.
type creditWorld struct {
	t      *testing.T
	random *rand.Rand
	clock  *manualClock
	node   *Node
	ni     *NI
	up     lnd.Upcalls
	peers  map[nid.NID]*worldPeer
	order  []*worldPeer
	open   int // number of messages that lnet has been given and that have not ended
}

func newCreditWorld(t *testing.T, seed uint64) *creditWorld {
	r := rand.New(rand.NewPCG(seed, 20))
	w := &creditWorld{t: t, random: r, clock: &manualClock{}, peers: map[nid.NID]*worldPeer{}}
	w.node = New(Config{Incarnation: 1, Clock: w.clock, PeerIdle: -1, TransactionTimeout: time.Hour})
	w.node.SetUpper(w)
	net := nid.MustParseNet("tcp")
	ni, err := w.node.AddNI(w, lnd.Config{Net: net, Tunables: lnd.Tunables{Credits: 1 + r.IntN(12), PeerCredits: 1 + r.IntN(4)}})
	if err != nil {
		t.Fatal(err)
	}
	w.ni = ni
	for i := range 2 + r.IntN(12) {
		p := &worldPeer{id: nid.FromNumber(net, 0x0A000100+uint32(i)), waited: map[*Message]bool{}}
		p.dead, p.stuck = r.IntN(3) == 0, r.IntN(3) == 0
		w.peers[p.id], w.order = p, append(w.order, p)
	}
	w.order[0].dead, w.order[0].stuck = false, false
	return w
}

// step makes one random change of the world.
func (w *creditWorld) step() {
	p := w.order[w.random.IntN(len(w.order))]
	switch w.random.IntN(12) {
	case 0, 1, 2, 3, 4:
		w.send(p, w.random.IntN(4) == 0)
	case 5, 6, 7, 8:
		if !p.dead && !p.stuck {
			w.leave(p, nil)
		}
	case 9:
		if p.dead { // the dial to the peer fails
			for len(p.driver) > 0 && w.random.IntN(8) > 0 {
				w.leave(p, syscall.EHOSTUNREACH)
			}
		}
	case 10:
		if p != w.order[0] && w.random.IntN(4) == 0 {
			p.dead, p.stuck = w.random.IntN(3) == 0, w.random.IntN(3) == 0
		}
	case 11:
		w.clock.advance(time.Duration(w.random.IntN(150)) * time.Millisecond)
	}
}

func (w *creditWorld) send(p *worldPeer, urgent bool) {
	m := new(Message)
	m.Init()
	m.Priority, m.Header.DestNID = urgent, p.id
	class := classOf(urgent)
	p.sent[class]++
	m.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: p.sent[class], Portal: 1})
	w.open++
	w.node.Send(m)
}

// leave ends, with the result err, the oldest message to p that the driver has.
func (w *creditWorld) leave(p *worldPeer, err error) {
	if len(p.driver) == 0 {
		return
	}
	m := p.driver[0]
	p.driver = p.driver[1:]
	delete(p.waited, m)
	w.up.Finalize(&m.Message, err)
}

// check compares the counters and credits of lnet with the driver's messages.
func (w *creditWorld) check() error {
	w.ni.mu.Lock()
	defer w.ni.mu.Unlock()
	c := &w.ni.tx
	held, stalled, wanted, holders := 0, 0, 0, 0
	for _, p := range w.node.peers.order {
		a, q := &p.account, w.peers[p.nid]
		if charged := len(q.driver) - len(q.waited); a.held != charged || p.credits != p.ni.cfg.Tunables.PeerCredits-len(q.driver) {
			return fmt.Errorf("%v holds %d NI credits with %d messages under way, %d peer credits", p.nid, a.held, charged, p.credits)
		}
		if p.dialled != len(q.waited) {
			return fmt.Errorf("%v: %d messages wait for a connection, not %d", p.nid, len(q.waited), p.dialled)
		}
		held, wanted = held+a.held, wanted+a.wants
		if a.held > 0 {
			holders++
		}
		if a.stalled {
			stalled += a.held
		}
	}
	switch {
	case c.credits+held != c.limit:
		return fmt.Errorf("%d credits, %d held, of %d", c.credits, held, c.limit)
	case c.stalled != stalled, c.spare != max(0, stalled-c.limit/2), c.wanted != wanted, len(c.holders) != holders:
		return fmt.Errorf("books %+v: stalled %d, wanted %d, holders %d", c, stalled, wanted, holders)
	case c.next() != nil:
		return errors.New("a peer waits that could go on")
	}
	return nil
}

// settle lets time pass until all messages to live peers have left, which takes no longer
// than finding out which peers are stalled.
func (w *creditWorld) settle() {
	for range 4 {
		for range 1000 {
			for _, p := range w.order {
				if !p.dead && !p.stuck {
					w.leave(p, nil)
				}
			}
		}
		w.clock.advance(stallTime)
	}
	for _, p := range w.order {
		if !p.dead && !p.stuck && p.came != p.sent {
			w.t.Errorf("%v is live: %d of %d messages have left", p.id, p.came, p.sent)
		}
	}
}

// end lets all messages leave.
func (w *creditWorld) end() {
	for some := true; some; {
		some = false
		for _, p := range w.order {
			p.dead, p.stuck = false, false
			some = some || len(p.driver) > 0
			w.leave(p, nil)
		}
	}
	if err := w.check(); err != nil || w.open != 0 || w.ni.tx.credits != w.ni.tx.limit || w.node.backlog.count.Load() != 0 {
		w.t.Errorf("in the end %v, %d messages open, %d waiting, books %+v", err, w.open, w.node.backlog.count.Load(), &w.ni.tx)
	}
	if err := w.node.Shutdown(w.t.Context()); err != nil {
		w.t.Error(err)
	}
}

// manualClock runs its timers in the goroutine that advances it.
type manualClock struct {
	now    time.Duration
	timers []*manualTimer
}

type manualTimer struct {
	at   time.Duration
	f    func()
	done bool
}

func (c *manualClock) Now() time.Duration { return c.now }

func (c *manualClock) AfterFunc(d time.Duration, f func()) machine.Timer {
	t := &manualTimer{at: c.now + d, f: f}
	c.timers = append(c.timers, t)
	return t
}

func (t *manualTimer) Stop() bool {
	was := !t.done
	t.done = true
	return was
}

func (c *manualClock) advance(d time.Duration) {
	for end := c.now + d; ; {
		var next *manualTimer
		for _, t := range c.timers {
			if !t.done && t.at <= end && (next == nil || t.at < next.at) {
				next = t
			}
		}
		if next == nil {
			c.now = end
			c.timers = slices.DeleteFunc(c.timers, func(t *manualTimer) bool { return t.done })
			return
		}
		next.done, c.now = true, next.at
		next.f()
	}
}

// The methods that the driver implements as an lnd.NI:

func (*creditWorld) Type() nid.NetType { return nid.TCP }

func (w *creditWorld) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	w.up = up
	return w, nil
}

func (*creditWorld) NID() nid.NID                   { return nid.MustParse("10.0.0.1@tcp") }
func (*creditWorld) Recv(*lnd.Delivery)             {}
func (*creditWorld) Shutdown(context.Context) error { return nil }

// Send checks the order of messages in each class.
func (w *creditWorld) Send(lm *lnd.Message) {
	m, p := owner(lm), w.peers[lm.Target.NID]
	class, number := classOf(lm.Priority), lm.Header.Put().MatchBits
	if number <= p.came[class] {
		w.t.Errorf("message %d of class %d to %v after %d", number, class, p.id, p.came[class])
	}
	p.came[class] = number
	p.driver = append(p.driver, m)
	if p.dead {
		p.waited[m] = true
		w.up.Waits(lm)
	}
}

// The methods that the layer above lnet implements as an lnet.Upper:

func (*creditWorld) Arrive(*NI, *lnd.Delivery) (lnd.Answer, DropReason) { return lnd.Accept, NoMatch }
func (*creditWorld) Delivered(*NI, *lnd.Delivery, error)                {}
func (*creditWorld) Abandon(*NI, *lnd.Delivery) bool                    { return false }
func (*creditWorld) Detach(*NI)                                         {}
func (*creditWorld) EndBatch(*lnd.Delivery)                             {}
func (*creditWorld) Again(*lnd.Delivery, int) bool                      { return false }
func (w *creditWorld) Sent(*Message, error)                             { w.open-- }
