package lnet_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	tcp    = nid.MustParseNet("tcp")
	self   = nid.MustParse("10.0.0.1@tcp")
	peerA  = nid.MustParse("10.0.0.2@tcp")
	peerB  = nid.MustParse("10.0.0.3@tcp")
	peerC  = nid.MustParse("10.0.0.4@tcp")
	second = nid.MustParse("10.0.0.9@tcp")
	self1  = nid.MustParse("10.1.0.1@tcp1")
	peer1  = nid.MustParse("10.1.0.2@tcp1")
)

// driver is a driver whose NI behaves as the test says. It keeps each message and delivery
// until the test finalizes it.
type driver struct {
	id      nid.NID
	startup func(up lnd.Upcalls) error      // called by Startup, which returns its error; nil: Startup succeeds
	onSend  func(d *driver, m *lnd.Message) // called for each send; nil keeps m in sent

	up lnd.Upcalls

	mu    sync.Mutex
	sent  []*lnd.Message // messages given to the driver; guarded by mu, like all below
	recv  []*lnd.Delivery
	cut   []nid.NID       // peers whose connections lnet has closed
	ended []uint64        // for each NID in cut: the incarnation whose connections lnet has closed; 0: all of them
	given []time.Duration // timeouts that lnet has set with SetTimeout

	linkUps int  // calls of LinkUp
	queued  bool // the messages in sent wait in the driver, which can give them back (Withdraw)
	closed  bool
}

func (d *driver) ClosePeer(peer nid.NID, incarnation uint64, _ error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut, d.ended = append(d.cut, peer), append(d.ended, incarnation)
}

// peersCut returns a copy of cut.
func (d *driver) peersCut() []nid.NID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.cut)
}

// LinkUp implements lnd.LinkFollower.
func (d *driver) LinkUp() { d.linkUps++ }

func (d *driver) Withdraw(want func(*lnd.Message) bool) {
	d.mu.Lock()
	var back, kept []*lnd.Message
	for _, m := range d.sent {
		if d.queued && want(m) {
			back = append(back, m)
		} else {
			kept = append(kept, m)
		}
	}
	d.sent = kept
	d.mu.Unlock()
	for _, m := range back {
		d.up.Finalize(m, lnd.ErrWithdrawn)
	}
}

func (d *driver) SetTimeout(t time.Duration) { d.given = append(d.given, t) }

func (d *driver) Type() nid.NetType { return d.id.Net().Type() }

func (d *driver) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	d.up = up
	if d.startup != nil {
		if err := d.startup(up); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *driver) NID() nid.NID { return d.id }

func (d *driver) Send(m *lnd.Message) {
	if d.onSend != nil {
		d.onSend(d, m)
		return
	}
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.sent = append(d.sent, m)
	}
	d.mu.Unlock()
	if closed {
		d.up.Finalize(m, syscall.ESHUTDOWN)
	}
}

func (d *driver) Recv(del *lnd.Delivery) {
	d.mu.Lock()
	d.recv = append(d.recv, del)
	d.mu.Unlock()
	d.up.Delivered(del, nil)
}

func (d *driver) Shutdown(context.Context) error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	for d.finalize(syscall.ESHUTDOWN) {
	}
	return nil
}

// finalize ends the oldest message that the driver has, with the result err. It returns false if the driver
// has none.
func (d *driver) finalize(err error) bool {
	d.mu.Lock()
	if len(d.sent) == 0 {
		d.mu.Unlock()
		return false
	}
	m := d.sent[0]
	d.sent = d.sent[1:]
	d.mu.Unlock()
	d.up.Finalize(m, err)
	return true
}

// inFlight returns the match bits of the messages that the driver has.
func (d *driver) inFlight() []uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	var bits []uint64
	for _, m := range d.sent {
		bits = append(bits, m.Header.Put().MatchBits)
	}
	return bits
}

// upper is a layer above lnet that accepts every message.
type upper struct {
	arrive func(ni *lnet.NI, d *lnd.Delivery) (lnd.Answer, lnet.DropReason)
	onSent func(m *lnet.Message, err error)

	onDelivered func(ni *lnet.NI)

	mu        sync.Mutex
	ended     map[uint64]error // results of the messages that have ended, by match bits; mu guards this and the fields below
	order     []uint64
	delivered int
	detached  int
	held      *lnd.Delivery
	again     int // number of messages for which lnet has called Again
}

func (u *upper) Arrive(ni *lnet.NI, d *lnd.Delivery) (lnd.Answer, lnet.DropReason) {
	if u.arrive != nil {
		return u.arrive(ni, d)
	}
	d.Owner = u
	d.Sink.Length = int(d.Header.PayloadLength)
	return lnd.Accept, lnet.NotDropped
}

func (u *upper) Delivered(ni *lnet.NI, _ *lnd.Delivery, _ error) {
	u.mu.Lock()
	u.delivered++
	u.mu.Unlock()
	if u.onDelivered != nil {
		u.onDelivered(ni)
	}
}

func (u *upper) Sent(m *lnet.Message, err error) {
	u.mu.Lock()
	bits := m.Header.Put().MatchBits
	u.ended[bits] = err
	u.order = append(u.order, bits)
	hook := u.onSent
	u.mu.Unlock()
	if hook != nil {
		hook(m, err)
	}
}

func (u *upper) Abandon(_ *lnet.NI, d *lnd.Delivery) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.held == d
}

func (*upper) EndBatch(*lnd.Delivery) {}

func (u *upper) Again(_ *lnd.Delivery, n int) bool {
	u.again += n
	return true
}

func (u *upper) Detach(*lnet.NI) {
	u.mu.Lock()
	u.detached++
	u.mu.Unlock()
}

func (u *upper) result(bits uint64) (err error, ended bool) { //nolint:revive // err is what the test asks for, so it is the first result: it does not say that result has failed
	u.mu.Lock()
	defer u.mu.Unlock()
	err, ended = u.ended[bits]
	return err, ended
}

// over returns a context that has ended, so that a call does not wait.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// rig is a node with one NI on tcp.
type rig struct {
	t    *testing.T
	node *lnet.Node
	up   *upper
	*driver
	ni *lnet.NI
}

// newNode makes a node without NIs, below the layer upper.
func newNode(upper lnet.Upper) *lnet.Node {
	n := lnet.New(lnet.Config{Incarnation: 7, Clock: machine.RealClock()})
	n.SetUpper(upper)
	return n
}

func newRig(t *testing.T, tunables lnd.Tunables, cfg lnet.Config) *rig {
	t.Helper()
	cfg.Incarnation = 7
	if cfg.Clock == nil {
		cfg.Clock = machine.RealClock()
	}
	r := &rig{t: t, node: lnet.New(cfg), up: &upper{ended: make(map[uint64]error)}, driver: &driver{id: self}}
	r.node.SetUpper(r.up)
	var err error
	if r.ni, err = r.node.AddNI(r.driver, lnd.Config{Net: tcp, Tunables: tunables}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.node.Shutdown(over()); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("shutdown: %v", err)
		}
		if n := r.node.Stats().MsgsAlloc; n != 0 {
			t.Errorf("%d messages never ended", n)
		}
	})
	return r
}

// put makes a PUT with match bits by which tests recognize it.
func put(to nid.NID, bits uint64) *lnet.Message {
	m := new(lnet.Message)
	m.Init()
	m.Header.DestNID = to
	m.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: bits, Portal: 1})
	return m
}

func (r *rig) send(to nid.NID, bits ...uint64) {
	for _, b := range bits {
		r.node.Send(put(to, b))
	}
}

func (r *rig) wantResult(bits uint64, want error) {
	r.t.Helper()
	if err, ended := r.up.result(bits); !ended || !errors.Is(err, want) {
		r.t.Errorf("message %d: ended %v with %v, want %v", bits, ended, err, want)
	}
}

func (r *rig) peer(id nid.NID) lnet.PeerSnapshot {
	r.t.Helper()
	for _, p := range r.node.Snapshot().Peers {
		if p.NID == id {
			return p
		}
	}
	r.t.Fatalf("no peer %v", id)
	return lnet.PeerSnapshot{}
}
