package o2iblnd

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnd/verbs/softroce/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// costs are the costs of a run, for both sides together.
type costs struct {
	sends     int // calls that send datagrams
	receives  int // calls in which datagrams are received
	datagrams int
	acks      int // datagrams that are ACKs
	clock     int // clock reads
}

func (c costs) String() string {
	return fmt.Sprintf("%d sends, %d receives, %d datagrams of which %d ACKs, %d clock reads", c.sends, c.receives, c.datagrams, c.acks, c.clock)
}

// meter is a network in virtual time that counts what its ports do.
type meter struct {
	*emulator.Network
	*emulator.Clock
	costs
}

func (m *meter) Now() time.Duration { m.clock++; return m.Clock.Now() }

// Open implements wire.Network.
func (m *meter) Open(cfg wire.Config) (wire.Conn, error) {
	receive := cfg.Receive
	cfg.Receive = func(list []wire.Datagrams) { m.receives++; receive(list) }
	c, err := m.Network.Open(cfg)
	return &meteredPort{c, m}, err
}

type meteredPort struct {
	wire.Conn
	m *meter
}

func (p *meteredPort) Send(list []wire.Burst) (int, error) {
	p.m.sends++
	for i := range list {
		for rest := list[i].Bytes; len(rest) > 0; rest = rest[min(list[i].Size, len(rest)):] {
			p.m.datagrams++
			if ibta.OpCode(rest[0]) == ibta.Acknowledge {
				p.m.acks++
			}
		}
	}
	return p.Conn.Send(list)
}

// metered is the lnet of one end.
type metered struct {
	ni        *NI
	sink      []lnd.Segment
	free      []*lnd.Message
	answers   int // messages that this end has still to send from inside Delivered
	refill    int // messages that this end has still to send from inside Finalize
	delivered int
	finalized int
	refuse    int // lnet refuses the message after this many deliveries; 0: it refuses none
	errs      []error
	then      func() // called from inside the third delivery; nil: nothing is called
}

func (e *metered) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	if e.refuse > 0 && e.delivered == e.refuse {
		return 0, errors.New("refused")
	}
	d.Sink = lnd.Payload{Segments: e.sink, Length: int(d.Header.PayloadLength)}
	return lnd.Accept, nil
}

func (e *metered) Delivered(_ *lnd.Delivery, err error) {
	if err != nil {
		panic(err)
	}
	if e.delivered++; e.delivered == 3 && e.then != nil {
		e.then()
	}
	if e.answers > 0 {
		e.answers--
		e.send()
	}
}

func (e *metered) Finalize(m *lnd.Message, err error) {
	if err != nil {
		e.errs = append(e.errs, err)
	}
	e.finalized++
	e.free = append(e.free, m)
	if e.refill > 0 {
		e.refill--
		e.send()
	}
}

func (e *metered) send() {
	last := len(e.free) - 1
	m := e.free[last]
	e.free = e.free[:last]
	e.ni.Send(m)
}

func (*metered) Abandon(*lnd.Delivery) bool    { return true }
func (*metered) Waits(*lnd.Message)            {}
func (*metered) PeerUp(nid.ProcessID)          {}
func (*metered) PeerDown(nid.ProcessID, error) {}

var _ machine.Clock = (*meter)(nil)

// newMetered returns two connected ends, each of which has sent one message. The costs of these are not
// counted.
func newMetered(t testing.TB, size, credits int) (*meter, [2]*metered) {
	m := &meter{Clock: emulator.NewClock()}
	m.Network = emulator.New(emulator.Config{Clock: m.Clock, Seed: 1, Faults: emulator.Faults{Delay: 10 * time.Microsecond}})
	open := softroce.NewOpener(softroce.Options{Network: m})
	var ends [2]*metered
	for i, a := range []string{"10.0.0.1", "10.0.0.2"} {
		ends[i] = &metered{sink: []lnd.Segment{make([]byte, size)}}
		ends[i].ni = start(t, netip.MustParseAddr(a), open, Config{}, ends[i], func(c *lnd.Config) {
			c.Clock, c.Tunables = m, lnd.Tunables{PeerCredits: credits, Credits: 2 * credits}
		})
	}
	for i, e := range ends {
		for range 256 {
			e.free = append(e.free, newMessage(e.ni, ends[1-i].ni.nid, size))
		}
	}
	for _, e := range ends {
		e.send()
		m.runUntil(t, func() bool { return e.finalized == 1 })
	}
	ends[0].delivered, ends[1].delivered, ends[0].finalized, ends[1].finalized = 0, 0, 0, 0
	m.Run(m.Clock.Now() + time.Second)
	m.costs = costs{}
	return m, ends
}

func (m *meter) runUntil(t testing.TB, cond func() bool) {
	t.Helper()
	for end := m.Clock.Now() + time.Minute; !cond(); {
		if !m.Step(end) {
			t.Fatal("nothing happens any more")
		}
	}
}

// costRun is a run of messages from the first end, each of which the second end answers or does not.
type costRun struct {
	name          string
	size, credits int
	count         int  // messages in all
	open          int  // messages that are under way at a time
	answered      bool // the second end answers each message with one of its own, from inside Delivered
	most          costs
}

// run sends the messages, and returns what they cost.
func (r *costRun) run(t testing.TB) costs {
	m, ends := newMetered(t, r.size, r.credits)
	if r.answered {
		ends[0].answers, ends[1].answers = r.count/2-r.open, r.count/2
	} else {
		ends[0].refill = r.count - r.open
	}
	for range r.open {
		ends[0].send()
	}
	m.runUntil(t, func() bool {
		return ends[0].finalized+ends[1].finalized == r.count && ends[0].delivered+ends[1].delivered == r.count
	})
	if len(ends[0].errs)+len(ends[1].errs) > 0 {
		t.Fatalf("%v %v", ends[0].errs, ends[1].errs)
	}
	return m.costs
}

var costRuns = []costRun{
	{"ping-pong", 8, 8, 1000, 1, true, costs{1001, 1001, 2000, 1000, 5029}},
	{"eight callers", 8, 8, 1000, 7, true, costs{152, 145, 1146, 145, 1594}},
	{"burst of 8 credits", 8, 8, 1000, 8, false, costs{293, 286, 1429, 286, 2164}},
	{"burst of 255 credits", 8, 255, 4000, 255, false, costs{222, 179, 4160, 131, 5044}},
	{"stream of MiBs", lnd.MaxPayload, 8, 32, 8, false, costs{431, 318, 8486, 190, 710}},
}

// TestCosts bounds what messages cost both sides together. The network and the time are virtual,
// so that each run has the same counts. TestNoAllocations bounds what they allocate.
func TestCosts(t *testing.T) {
	for _, r := range costRuns {
		t.Run(r.name, func(t *testing.T) {
			got := r.run(t)
			t.Logf("%d messages: %v", r.count, got)
			if got.sends > r.most.sends || got.receives > r.most.receives || got.datagrams > r.most.datagrams ||
				got.acks > r.most.acks || got.clock > r.most.clock {
				t.Errorf("%v\nat most %v", got, r.most)
			}
		})
	}
}
