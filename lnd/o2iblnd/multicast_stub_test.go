package o2iblnd

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/verbs"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// frozen is a clock whose time stands still.
type frozen struct{ machine.Clock }

func (frozen) Now() time.Duration { return time.Minute }

// stubDevice is a device with one queue pair for datagrams, whose posted datagrams complete when the test
// says so.
type stubDevice struct {
	verbs.Device
	mtu, sges int
	pool      countingPool
	queues    []*stubCQ
	qp        *stubUD
	closed    int // number of protection domains that were closed
}

func (s *stubDevice) Attr() verbs.DeviceAttr   { return verbs.DeviceAttr{MTU: s.mtu, SGEs: s.sges} }
func (s *stubDevice) NewPD() (verbs.PD, error) { return stubPD{dev: s}, nil }

func (s *stubDevice) NewCQ(_ int, done func([]verbs.Completion)) (verbs.CQ, error) {
	q := &stubCQ{done: done}
	s.queues = append(s.queues, q)
	return q, nil
}

func (s *stubDevice) NewUD(verbs.UDConfig) (verbs.UD, error) {
	s.qp.done = s.queues[0].done
	return s.qp, nil
}

type stubPD struct {
	verbs.PD
	dev *stubDevice
}

func (p stubPD) NewPool(verbs.PoolConfig) (verbs.Pool, error) { return &p.dev.pool, nil }
func (p stubPD) Close() error                                 { p.dev.closed++; return nil }

type stubCQ struct {
	done   func([]verbs.Completion)
	closed bool
}

func (q *stubCQ) Close() error { q.closed = true; return nil }

// stubUD is a queue pair that keeps what is posted.
type stubUD struct {
	refuse error // error that PostSend and Join return
	bare   bool  // the bytes of datagrams are not kept
	done   func([]verbs.Completion)
	posted []verbs.Datagram // datagrams that are posted and not completed
	sent   [][]byte         // bytes of all datagrams that were posted
	pieces int              // pieces of memory of the last datagram
	closed bool
	// Join sends to held and then waits for hold; if they are nil it does neither.
	hold, held chan struct{}
}

func (u *stubUD) QPN() uint32 { return 9 }
func (u *stubUD) Join(netip.Addr) error {
	if u.hold != nil {
		u.held <- struct{}{}
		<-u.hold
	}
	return u.refuse
}

func (*stubUD) Leave(netip.Addr) error { return nil }

func (u *stubUD) PostSend(list []verbs.Datagram) error {
	if u.refuse != nil {
		return u.refuse
	}
	for _, d := range list {
		var b []byte
		for _, p := range d.Pieces {
			if !u.bare {
				b = append(b, p.Bytes...)
			}
		}
		u.pieces, d.Pieces = len(d.Pieces), nil
		u.sent, u.posted = append(u.sent, b), append(u.posted, d)
	}
	return nil
}

// complete ends the first n of what is posted.
func (u *stubUD) complete(n int, status verbs.Status) {
	var batch []verbs.Completion
	for _, d := range u.posted[:n] {
		batch = append(batch, verbs.Completion{ID: d.ID, Op: verbs.Send, Status: status})
	}
	u.posted = u.posted[n:]
	u.done(batch)
}

func (u *stubUD) Close() {
	u.closed = true
	if len(u.posted) > 0 {
		u.complete(len(u.posted), verbs.Flushed)
	}
}

// finals keeps the errors with which messages were finalized.
type finals struct {
	lnd.Upcalls
	list []*lnd.Message
	errs map[*lnd.Message]error
}

func (f *finals) Finalize(m *lnd.Message, err error) {
	f.list = append(f.list, m)
	f.errs[m] = err
}

// stubNI makes an NI on a stubDevice.
func stubNI(t testing.TB, cfg Config) (*NI, *stubDevice, *finals) {
	t.Helper()
	cfg.Open = func(verbs.OpenConfig) (verbs.Device, error) { return nil, errors.ErrUnsupported }
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	up := &finals{errs: make(map[*lnd.Message]error)}
	ni := &NI{cfg: d.cfg, nid: nid.MustParse("10.0.0.1@o2ib"), up: up}
	dev := &stubDevice{mtu: 1024, sges: 4, qp: new(stubUD)}
	ni.cast.init(ni, dev, dev.mtu, frozen{})
	return ni, dev, up
}

// castMessage makes a datagram to group 5.
func castMessage(ni *NI, bits uint64, segments ...[]byte) *lnd.Message {
	m := &lnd.Message{Group: 5, Target: nid.ProcessID{NID: ni.GroupNID(5), PID: nid.LustrePID}}
	m.Payload.Segments = segments
	for _, s := range segments {
		m.Payload.Length += len(s)
	}
	m.Header = wire.Header{SrcNID: ni.nid, DestNID: m.Target.NID, SrcPID: nid.LustrePID, DestPID: nid.LustrePID, PayloadLength: uint32(m.Payload.Length)}
	m.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: bits})
	return m
}
