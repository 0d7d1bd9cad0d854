package o2iblnd

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	lnetwire "ulnet/lnet/wire"
)

// noise has the bytes of all payloads: the payload of message number i begins i bytes into it.
var noise = fill(lnd.MaxPayload + 1<<16)

func noiseOf(number uint64, n int) []byte { return noise[number%(1<<16):][:n] }

// traffic plays lnet at one NI: it checks all that arrives, answers GETs, and keeps
// a number of operations under way.
type traffic struct {
	t    *testing.T
	ni   *NI
	peer nid.NID

	mu      sync.Mutex
	random  *rand.Rand
	number  uint64
	left    int // bytes that are still to be asked for
	open    int // operations that are in progress
	gets    map[uint64][]byte
	failed  []error
	arrived int
}

// putNumber returns the number of a PUT: its match bits.
func putNumber(h *lnetwire.Header) uint64 { return h.Put().MatchBits }

func (u *traffic) fail(err error) {
	u.mu.Lock()
	u.failed = append(u.failed, err)
	u.mu.Unlock()
}

// next begins an operation of random size and kind. It returns false if enough has been done.
func (u *traffic) next() bool {
	u.mu.Lock()
	if u.left <= 0 {
		u.mu.Unlock()
		return false
	}
	u.number++
	number := u.number
	n := u.size()
	u.left -= n
	u.open++
	m := &lnd.Message{Target: lustre(u.peer), Priority: u.random.IntN(10) == 0}
	m.Header = lnetwire.Header{SrcNID: u.ni.nid, DestNID: u.peer, SrcPID: nid.LustrePID, DestPID: nid.LustrePID}
	if u.random.IntN(2) == 0 {
		m.Header.SetPut(lnetwire.PutCmd{AckMD: lnetwire.NoHandle(), MatchBits: number})
		m.Header.PayloadLength = uint32(n)
		m.Payload = cut(u.random, noiseOf(number, n))
	} else {
		b := make([]byte, n)
		u.gets[number] = b
		m.Header.SetGet(lnetwire.GetCmd{ReturnMD: lnetwire.MDHandle{Interface: 1, Object: number}, MatchBits: number, SinkLength: uint32(n)})
		m.Sink = cut(u.random, b)
	}
	u.mu.Unlock()
	u.ni.Send(m)
	return true
}

func (u *traffic) size() int {
	switch u.random.IntN(4) {
	case 0:
		return u.random.IntN(200)
	case 1:
		return u.random.IntN(8192)
	default:
		return u.random.IntN(lnd.MaxPayload + 1)
	}
}

// cut divides b into pieces of random sizes.
func cut(r *rand.Rand, b []byte) lnd.Payload {
	p := lnd.Payload{Length: len(b)}
	for range r.IntN(20) {
		n := r.IntN(len(b) + 1)
		p.Segments = append(p.Segments, b[:n:n])
		b = b[n:]
	}
	p.Segments = append(p.Segments, b)
	return p
}

func (u *traffic) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	d.Sink, d.Dropped = lnd.Payload{}, false
	n := int(d.Header.PayloadLength)
	switch d.Header.Type {
	case lnetwire.Put:
		b := make([]byte, n)
		u.mu.Lock()
		d.Sink = cut(u.random, b)
		u.mu.Unlock()
		d.Owner = b
	case lnetwire.Reply:
		u.mu.Lock()
		b := u.gets[d.Header.Reply().DstMD.Object]
		u.mu.Unlock()
		d.Sink, d.Owner = lnd.Payload{Segments: [][]byte{b}, Length: n}, b
	}
	return lnd.Accept, nil
}

func (u *traffic) Delivered(d *lnd.Delivery, err error) {
	if err != nil {
		u.fail(err)
		return
	}
	switch d.Header.Type {
	case lnetwire.Put:
		u.check(d.Owner.([]byte), putNumber(&d.Header))
	case lnetwire.Get:
		get := d.Header.Get()
		m := &lnd.Message{Target: lustre(u.peer)}
		m.Header = lnetwire.Header{SrcNID: u.ni.nid, DestNID: u.peer, SrcPID: nid.LustrePID, DestPID: nid.LustrePID}
		m.Header.SetReply(lnetwire.ReplyCmd{DstMD: get.ReturnMD})
		m.Header.PayloadLength = get.SinkLength
		m.Payload = lnd.Payload{Segments: [][]byte{noiseOf(get.MatchBits, int(get.SinkLength))}, Length: int(get.SinkLength)}
		u.ni.Send(m)
	case lnetwire.Reply:
		number := d.Header.Reply().DstMD.Object
		u.check(d.Owner.([]byte), number)
		u.mu.Lock()
		delete(u.gets, number)
		u.mu.Unlock()
		u.ended()
	}
}

func (u *traffic) check(got []byte, number uint64) {
	if !bytes.Equal(got, noiseOf(number, len(got))) {
		u.t.Errorf("message %d of %d bytes has changed", number, len(got))
	}
	u.mu.Lock()
	u.arrived++
	u.mu.Unlock()
}

func (u *traffic) ended() {
	u.mu.Lock()
	u.open--
	u.mu.Unlock()
	u.next()
}

func (u *traffic) Finalize(m *lnd.Message, err error) {
	if err != nil {
		u.fail(err)
	}
	if m.Header.Type == lnetwire.Put {
		u.ended()
	}
}

func (*traffic) Abandon(*lnd.Delivery) bool    { return true }
func (*traffic) Waits(*lnd.Message)            {}
func (*traffic) PeerUp(nid.ProcessID)          {}
func (*traffic) PeerDown(nid.ProcessID, error) {}

func (u *traffic) done() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.open == 0 && u.left <= 0 || len(u.failed) > 0
}

// TestBadWire: PUTs and GETs in both directions arrive whole over a wire that loses one
// packet of a hundred, repeats and reorders others, and nothing is left behind.
func TestBadWire(t *testing.T) {
	effort.OneGoroutine(t)
	total := effort.Of(20<<20, 50<<20, 200<<20)
	if os.Getenv("BENCH") == "long" {
		total = 10 << 30
	}
	clock := emulator.NewClock()
	net := emulator.New(emulator.Config{
		Clock: clock, Seed: 7,
		Faults: emulator.Faults{Delay: 20 * time.Microsecond, Jitter: 5 * time.Microsecond, Loss: 0.01, Duplicate: 0.01, Reorder: 0.01, Hold: 100 * time.Microsecond},
	})
	open := softroce.NewOpener(softroce.Options{Network: net})
	var users [2]*traffic
	var devs []verbs.Device // the devices stay open when the NIs end
	for i, a := range []string{"10.0.0.1", "10.0.0.2"} {
		dev, err := open(verbs.OpenConfig{Addr: netip.MustParseAddr(a), Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		devs = append(devs, dev)
		users[i] = &traffic{t: t, random: rand.New(rand.NewPCG(uint64(i), 3)), left: total / 2, gets: map[uint64][]byte{}}
		users[i].ni = start(t, netip.MustParseAddr(a), open, Config{}, users[i], func(c *lnd.Config) { c.Clock = clock })
	}
	users[0].peer, users[1].peer = users[1].ni.nid, users[0].ni.nid
	for _, u := range users {
		for range 16 {
			u.next()
		}
	}
	for !users[0].done() || !users[1].done() {
		if !clock.Step(machine.Never - 1) {
			t.Fatal("everything has come to a halt")
		}
	}
	t.Logf("%v for %d MiB; %+v", clock.Now(), total>>20, net.Stats())
	shutTraffic(t, clock, users[:], devs)
	if got, want := users[0].arrived+users[1].arrived, int(users[0].number+users[1].number); got != want {
		t.Errorf("the data of %d operations arrived, of %d", got, want)
	}
}

// shutTraffic ends the NIs in virtual time, and checks that nothing has failed and
// nothing is left.
func shutTraffic(t *testing.T, clock *emulator.Clock, users []*traffic, devs []verbs.Device) {
	t.Helper()
	ended := make(chan error, len(users))
	for _, u := range users {
		if len(u.failed) > 0 {
			t.Errorf("%v: %d failed, first %v; %v", u.ni.nid, len(u.failed), u.failed[0], u.ni.counts.nonzero())
		}
		go func() { ended <- u.ni.Shutdown(t.Context()) }()
	}
	for n := 0; n < len(users); {
		clock.Step(machine.Never - 1)
		select {
		case err := <-ended:
			n++
			if err != nil {
				t.Errorf("shutdown: %v", err)
			}
		default:
			runtime.Gosched()
		}
	}
	for _, dev := range devs {
		if s := dev.(interface{ Stats() softroce.Stats }).Stats(); s.Regions != 0 || s.QueuePairs != 0 {
			t.Errorf("%v: %d regions and %d queue pairs left", dev.Attr().Addr, s.Regions, s.QueuePairs)
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}
}

// nonzero returns the counters that are not zero, by name, for messages of tests.
func (c *counters) nonzero() map[string]uint64 {
	all := map[string]uint64{}
	for r, n := range c.snapshot() {
		if n > 0 {
			all[Reason(r).String()] = n
		}
	}
	return all
}
