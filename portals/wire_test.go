package portals_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

var (
	here  = nid.ProcessID{NID: nid.MustParse("10.0.0.1@tcp"), PID: nid.LustrePID}
	there = nid.ProcessID{NID: nid.MustParse("10.0.0.2@tcp"), PID: nid.LustrePID}
)

const incarnation = 7

// network is a driver without a network: messages that are sent wait in it, and the test
// makes messages arrive.
type network struct {
	id     nid.NID // NID of the NI; zero: that of the variable here
	up     lnd.Upcalls
	fails  error       // error that Startup returns
	onSend func()      // called at each Send; nil: no call
	onStop func()      // called at Shutdown; nil: no call
	onRecv func()      // called at the end of a Recv that has delivered the payload itself (see later); nil: no call
	later  bool        // Recv returns at once; another goroutine delivers the payload
	stall  bool        // Recv only appends the delivery to begun; its payload does not come by itself
	single bool        // Post refuses a small message that stands for several equal ones
	whole  func() bool // called by Post: whether it refuses the small message, so that Send gets it; nil: it takes all

	// memory is held while payload is copied: in TestStress operations put from and get into
	// the same MD at once, and the race detector must not report that.
	memory sync.Mutex

	mu     sync.Mutex
	sent   []*lnd.Message  // messages sent; guarded by mu, like all fields below
	held   int             // number of deliveries on hold
	begun  []*lnd.Delivery // deliveries that Recv has got, with stall
	closed bool
}

func (n *network) Type() nid.NetType { return n.NID().Net().Type() }

func (n *network) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	if n.fails != nil {
		return nil, n.fails
	}
	n.up = up
	return n, nil
}

func (n *network) NID() nid.NID {
	if n.id.IsValid() {
		return n.id
	}
	return here.NID
}

func (n *network) Send(m *lnd.Message) {
	if n.onSend != nil {
		n.onSend()
	}
	n.mu.Lock()
	closed := n.closed
	if !closed {
		n.sent = append(n.sent, m)
	}
	n.mu.Unlock()
	if closed {
		n.up.Finalize(m, syscall.ESHUTDOWN)
	}
}

// The methods of a driver with multicast.
func (*network) GroupNID(g lnd.Group) nid.NID {
	return nid.FromNumber(here.NID.Net(), 239<<24|uint32(g))
}
func (*network) Join(lnd.Group) error       { return nil }
func (*network) Leave(lnd.Group) error      { return nil }
func (n *network) Multicast(m *lnd.Message) { n.Send(m) }

func (*network) MulticastLimits() lnd.MulticastLimits {
	return lnd.MulticastLimits{MaxPayload: 1000, ReceiveBuffer: 1 << 16}
}

// Post takes small messages as Send takes others, each into a buffer of its own.
func (n *network) Post(i *lnd.Inline, payload lnd.Payload, open bool) (lnd.Flusher, bool) {
	i.Opens = true
	if !open || n.single && i.Copies > 0 || n.whole != nil && n.whole() {
		return nil, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, false
	}
	n.memory.Lock()
	b := payload.AppendTo(nil)
	n.memory.Unlock()
	kept := *i
	n.sent = append(n.sent, &lnd.Message{
		Header: i.Header, Target: i.To, Owner: &kept,
		Payload: lnd.Payload{Segments: []lnd.Segment{b}, Length: len(b)},
	})
	return n, true
}

// Buffered implements lnd.Inliner.
func (n *network) Buffered(to nid.ProcessID) (messages, bytes int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.sent {
		if i, ok := m.Owner.(*lnd.Inline); ok && i.To == to {
			messages += i.Messages()
			bytes += i.Messages() * m.Payload.Length
		}
	}
	return messages, bytes
}

// Flush is called after each message that Post took, or after several of one batch.
func (n *network) Flush() {
	if n.onSend != nil {
		n.onSend()
	}
}

// finalize ends a message that was sent or posted.
func (n *network) finalize(m *lnd.Message, err error) {
	i, ok := m.Owner.(*lnd.Inline)
	switch up := n.up.(lnd.InlineUpcalls); {
	case !ok:
		up.Finalize(m, err)
	case err == nil:
		up.Left(i.Owner, lastRecord(nil, i), i.To, m.SentAt)
	default:
		n.lose(m, i.Messages(), err)
	}
}

// lastRecord appends the record of a message that is alone in its buffer.
func lastRecord(list []lnd.Record, i *lnd.Inline) []lnd.Record {
	list = i.AppendRecord(list)
	list[len(list)-1].Closes = true
	return list
}

// lose fails the last messages for which m, a posted message, stands. The parameter count is their number.
func (n *network) lose(m *lnd.Message, count int, err error) {
	i := m.Owner.(*lnd.Inline)
	n.up.(lnd.InlineUpcalls).Lost(i.Owner, &lastRecord(nil, i)[0], &m.Header, i.To, count, m.Payload.AppendTo(nil), err)
}

// leave ends messages that were posted to one process, as if one write had sent all of them.
func (n *network) leave(list ...*lnd.Message) {
	var records []lnd.Record
	for _, m := range list {
		i := m.Owner.(*lnd.Inline)
		records = lastRecord(records, i)
	}
	n.up.(lnd.InlineUpcalls).Left(list[0].Owner.(*lnd.Inline).Owner, records, list[0].Target, list[0].SentAt)
}

// next removes the oldest message that was sent.
func (n *network) next() *lnd.Message {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.sent) == 0 {
		return nil
	}
	m := n.sent[0]
	n.sent = slices.Delete(n.sent, 0, 1)
	return m
}

// waiting returns the messages that were sent and have not been removed.
func (n *network) waiting() []*lnd.Message {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.sent)
}

func (n *network) Recv(d *lnd.Delivery) {
	n.mu.Lock()
	n.held--
	later, stall := n.later, n.stall
	if stall {
		n.begun = append(n.begun, d)
	}
	n.mu.Unlock()
	switch {
	case stall:
		return
	case later:
		go n.receive(d, nil)
		return
	}
	n.receive(d, nil)
	if n.onRecv != nil {
		n.onRecv()
	}
}

// receive brings the payload of a delivery: the byte 0xEE throughout.
func (n *network) receive(d *lnd.Delivery, err error) {
	for _, s := range d.Sink.Append(nil) {
		for i := range s {
			s[i] = 0xEE
		}
	}
	n.up.Delivered(d, err)
}

func (n *network) Shutdown(context.Context) error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	if n.onStop != nil {
		n.onStop()
	}
	for m := n.next(); m != nil; m = n.next() {
		n.finalize(m, syscall.ESHUTDOWN)
	}
	return nil
}

// arrive makes a message arrive by a connection of its source. It returns lnet's refusal, if
// any.
func (n *network) arrive(h wire.Header, failure error) error {
	return n.arriveFrom(nid.ProcessID{NID: h.SrcNID, PID: h.SrcPID}, h, failure)
}

// arriveFrom makes a message arrive as arrive does, but on a connection of the process that id names.
func (n *network) arriveFrom(id nid.ProcessID, h wire.Header, failure error) error {
	d := &lnd.Delivery{Header: h, From: id}
	answer, err := n.up.Parse(d)
	switch {
	case err != nil:
		return err
	case answer == lnd.Hold:
		n.mu.Lock()
		n.held++
		n.mu.Unlock()
	default:
		n.receive(d, failure)
	}
	return nil
}

// mustArrive makes a message arrive that must not be refused.
func (n *network) mustArrive(t *testing.T, h wire.Header) {
	t.Helper()
	if err := n.arrive(h, nil); err != nil {
		t.Fatal(err)
	}
}

// newWire is newHarness with a network instead of loopback.
func newWire(t testing.TB) (*portals.Table, *network) {
	t.Helper()
	node := lnet.New(lnet.Config{Incarnation: incarnation, Clock: machine.RealClock()})
	return newWireOn(t, node, lnd.Tunables{})
}

func newWireOn(t testing.TB, node *lnet.Node, tunables lnd.Tunables) (*portals.Table, *network) {
	t.Helper()
	table, net := portals.New(node), new(network)
	if _, err := node.AddNI(net, lnd.Config{Net: here.NID.Net(), Tunables: tunables}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // ends the wait at once: messages that the test left in the network never leave
		if err := node.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("shutdown: %v", err)
		}
		if n := node.Stats().MsgsAlloc; n != 0 {
			t.Errorf("%d messages never ended", n)
		}
	})
	return table, net
}

// header makes the header of a PUT from there to here.
func header(length uint32) (h wire.Header) {
	h.SrcNID, h.SrcPID, h.DestNID, h.DestPID = there.NID, there.PID, here.NID, here.PID
	h.PayloadLength = length
	return h
}

// from returns h with the process id as its source.
func from(id nid.ProcessID, h wire.Header) wire.Header {
	h.SrcNID, h.SrcPID = id.NID, id.PID
	return h
}

func handle(md portals.MDHandle) wire.MDHandle {
	return wire.MDHandle{Interface: incarnation, Object: uint64(md)}
}

func putHeader(length uint32, c wire.PutCmd) wire.Header {
	h := header(length)
	h.SetPut(c)
	return h
}

func getHeader(c wire.GetCmd) wire.Header {
	h := header(0)
	h.SetGet(c)
	return h
}

func replyHeader(length uint32, md wire.MDHandle) wire.Header {
	h := header(length)
	h.SetReply(wire.ReplyCmd{DstMD: md})
	return h
}

func ackHeader(md wire.MDHandle, mlength uint32) wire.Header {
	h := header(0)
	h.SetAck(wire.AckCmd{DstMD: md, MatchBits: 0x55, MLength: mlength})
	return h
}

// wantDrops compares the drops so far with want.
func wantDrops(t *testing.T, table *portals.Table, want map[string]uint64) {
	t.Helper()
	if diff := cmp.Diff(want, table.Node().Stats().DropReasons); diff != "" {
		t.Errorf("drops (-want +got):\n%s", diff)
	}
}
