package fault

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

var (
	here  = nid.MustParse("10.0.0.1@tcp")
	there = nid.MustParse("10.0.0.2@tcp")
	third = nid.MustParse("10.0.0.3@tcp")
)

// bench is a fake driver below a wrapper and a fake lnet above it, both in the
// goroutines of the test and of the clock.
type bench struct {
	t     testing.TB
	clock machine.Clock
	plan  *Plan
	ni    lnd.NI      // NI of the wrapper that is tested
	up    lnd.Upcalls // upcalls of the wrapper, which the driver below it makes

	mu    sync.Mutex // held while an event is recorded; the test reads events after calling pass
	sent  []event    // messages that the driver was given to send
	ended []event    // messages that were finalized
	got   []event    // messages that arrived at lnet
	slow  bool       // the test, and not the driver, finalizes messages
	inTow []*lnd.Message
	down  bool

	held     *lnd.Delivery // a GET for which the driver waits for Recv
	lost     error         // why the connection ended while the driver held a GET; nil: it has not
	dropped  []bool        // for each GET: whether the driver has learned that it was dropped
	abandons bool          // lnet gives up what it holds

	parse func(*lnd.Delivery) (lnd.Answer, error) // answers Parse; nil accepts every message
}

// tardyClock has timers that are late, so that due messages have not left yet while a test goes
// on.
type tardyClock struct{ machine.Clock }

// AfterFunc implements machine.Clock.
func (c tardyClock) AfterFunc(d time.Duration, f func()) machine.Timer {
	return struct{ machine.Timer }{c.Clock.AfterFunc(d+time.Millisecond, f)} // without Reset: later timers are late too
}

// event is a message and the time at which it was seen.
type event struct {
	at   time.Duration
	bits uint64
	data string
	err  error
}

func newBench(t testing.TB, cfg Config, rules ...string) *bench {
	t.Helper()
	b := &bench{t: t, clock: machine.RealClock()}
	if cfg.Clock == nil {
		cfg.Clock = b.clock
	}
	b.plan = New(cfg)
	ni, err := Wrap(b, b.plan).Startup(lnd.Config{Net: nid.MakeNet(nid.TCP, 0)}, (*benchLNet)(b))
	if err != nil {
		t.Fatal(err)
	}
	b.ni = ni
	for _, r := range rules {
		b.rule(r)
	}
	return b
}

func (b *bench) rule(text string) int {
	b.t.Helper()
	r, err := ParseRule(text)
	if err != nil {
		b.t.Fatal(err)
	}
	id, err := b.plan.Add(r)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b *bench) Type() nid.NetType { return nid.TCP }

func (b *bench) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	b.up = up
	return (*benchNI)(b), nil
}

// note appends an event for a message, at the present time.
func (b *bench) note(to *[]event, h *wire.Header, data []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := event{at: b.clock.Now(), data: string(data), err: err}
	if h.Type == wire.Put {
		e.bits = h.Put().MatchBits
	}
	*to = append(*to, e)
}

// benchNI is the NI of the driver below the wrapper.
type benchNI bench

func (*benchNI) NID() nid.NID { return here }

func (n *benchNI) Send(m *lnd.Message) {
	if n.down {
		n.up.Finalize(m, syscall.ESHUTDOWN)
		return
	}
	(*bench)(n).note(&n.sent, &m.Header, m.Payload.AppendTo(nil), nil)
	if n.slow {
		n.inTow = append(n.inTow, m)
		return
	}
	n.up.Finalize(m, nil)
}

func (n *benchNI) Recv(d *lnd.Delivery) {
	if d != n.held {
		n.t.Error("Recv of a delivery that the driver does not hold")
		return
	}
	n.held = nil
	n.dropped = append(n.dropped, d.Dropped)
	n.up.Delivered(d, n.lost)
}

func (n *benchNI) Shutdown(context.Context) error {
	n.down = true
	return nil
}

// benchLNet is the lnet above the wrapper.
type benchLNet bench

func (l *benchLNet) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	if l.parse != nil {
		return l.parse(d)
	}
	l.take(d)
	return lnd.Accept, nil
}

func (*benchLNet) take(d *lnd.Delivery) {
	memory := make([]byte, d.Header.PayloadLength)
	d.Sink = lnd.Payload{Segments: [][]byte{memory}, Length: len(memory)}
	d.Owner = memory
}

func (l *benchLNet) Delivered(d *lnd.Delivery, err error) {
	memory, _ := d.Owner.([]byte)
	(*bench)(l).note(&l.got, &d.Header, memory, err)
}

func (l *benchLNet) Finalize(m *lnd.Message, err error) {
	(*bench)(l).note(&l.ended, &m.Header, nil, err)
	for _, s := range m.Payload.Segments {
		clear(s) // after Finalize the sender may reuse the memory
	}
}

func (l *benchLNet) Abandon(*lnd.Delivery) bool  { return l.abandons }
func (*benchLNet) Waits(*lnd.Message)            {}
func (*benchLNet) PeerUp(nid.ProcessID)          {}
func (*benchLNet) PeerDown(nid.ProcessID, error) {}

// put makes a PUT; bits tells it from others.
func put(from, to nid.NID, bits uint64, data string) *lnd.Message {
	m := &lnd.Message{Target: nid.ProcessID{NID: to, PID: nid.LustrePID}}
	m.Payload = lnd.Payload{Segments: [][]byte{[]byte(data)}, Length: len(data)}
	m.Header.SrcNID, m.Header.DestNID = from, to
	m.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: bits, Portal: 4})
	m.Header.PayloadLength = uint32(len(data))
	return m
}

func (b *bench) send(bits uint64) { b.ni.Send(put(here, there, bits, fmt.Sprint(bits))) }

// receive makes a message arrive and returns how many bytes of its payload were read.
func (b *bench) receive(from nid.NID, bits uint64, err error) (read int) {
	m := put(from, here, bits, fmt.Sprint(bits))
	d := &lnd.Delivery{Header: m.Header, From: nid.ProcessID{NID: from}}
	answer, parseErr := b.up.Parse(d)
	if answer != lnd.Accept || parseErr != nil {
		b.t.Fatalf("Parse: %v, %v", answer, parseErr)
	}
	read = lnd.Copy(d.Sink, m.Payload)
	b.up.Delivered(d, err)
	return read
}

// bitsOf returns the match bits of events, in order.
func bitsOf(events []event) (list []uint64) {
	for _, e := range events {
		list = append(list, e.bits)
	}
	return list
}

// bits returns the match bits of events while goroutines of the clock may append further ones.
func (b *bench) bits(events *[]event) []uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bitsOf(*events)
}

// empty checks that no message is held back and no room for such messages is taken.
func (b *bench) empty() {
	b.t.Helper()
	if s := b.plan.Snapshot(); s.Held != 0 || s.HeldBytes != 0 {
		b.t.Errorf("%d messages of %d bytes are kept", s.Held, s.HeldBytes)
	}
}

// pass lets time pass in the test's bubble (package synctest), with all that happens in it.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
