package main

import (
	"context"
	"net/netip"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/portals"
	localnode "ulnet/portals/node"
)

// The portals of the measurements. A PUT to portalEcho is answered by a PUT to portalReply with
// the same match bits, which select the match entries on both sides.
const (
	portalEcho   = 20
	portalReply  = 21
	portalSink   = 22
	portalSource = 23

	// A PUT to portalCall, with any match bits, is answered by a PUT to portalAnswer with the same match
	// bits.
	portalCall   = 24
	portalAnswer = 25

	// The match bits say how both sides wait. Their lowest 8 bits are the index of the payload in
	// sizes.
	bitsHandler = 0x100
	bitsEQ      = 0x200
	bitsChannel = 0x300
	bitsUrgent  = 0x400
	bitsSize    = 0xff // mask of the index in sizes
)

// waits are the ways in which a program can wait for a message.
var waits = []struct {
	name string
	bits uint64
}{
	{"handler to handler", bitsHandler},
	{"through EQ.Wait", bitsEQ},
	{throughChannel, bitsChannel},
}

const throughChannel = "through a channel"

// node is an LNet node with one NI, usually over TCP.
type node struct {
	clock machine.Clock
	whole *localnode.Node
	table *portals.Table
	id    nid.ProcessID
}

var tcp = nid.MakeNet(nid.TCP, 0)

func newNode(addr netip.Addr, port uint16, tunables lnd.Tunables) (*node, error) {
	return newNodeWith(addr, socklnd.Config{AcceptPort: port}, tunables)
}

func newNodeWith(addr netip.Addr, cfg socklnd.Config, tunables lnd.Tunables) (*node, error) {
	return newNodeOn(tcp, addr, localnode.Config{TCP: cfg, Tunables: tunables})
}

// newNodeOn starts a node with one NI.
func newNodeOn(net nid.Net, addr netip.Addr, cfg localnode.Config) (n *node, err error) {
	n = &node{id: processOf(net, addr)}
	cfg.Networks = networks.Interface{Net: net, Name: addr.String()}.String()
	if n.whole, err = localnode.Start(cfg); err != nil {
		return nil, err
	}
	n.table, n.clock = n.whole.Table(), n.whole.LNet().Clock()
	return n, nil
}

func processAt(addr netip.Addr) nid.ProcessID { return processOf(tcp, addr) }

func processOf(net nid.Net, addr netip.Addr) nid.ProcessID {
	return nid.ProcessID{NID: nid.FromAddr(net, addr), PID: nid.LustrePID}
}

func (n *node) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = n.whole.Close(ctx) // an error makes no difference: the process ends
}

// post attaches a match entry with an MD at a portal, for the other node.
func (n *node) post(portal int, match portals.Match, md portals.MD) error {
	me, err := n.table.MEAttach(portal, match, portals.Retain, portals.After)
	if err != nil {
		return err
	}
	md.Threshold = portals.ThresholdInfinite
	md.Options |= portals.ManageRemote
	_, err = n.table.MDAttach(me, md, portals.Retain)
	return err
}

// bind binds an MD to send from or to fetch into.
func (n *node) bind(size int, handler func(*portals.Event), eq *portals.EQ) (portals.MDHandle, error) {
	return n.table.MDBind(portals.MD{
		Segments: []lnd.Segment{make([]byte, size)}, Threshold: portals.ThresholdInfinite,
		Handler: handler, EQ: eq,
	}, portals.Retain)
}

// responder is the node of the other process: it answers small PUTs, discards large ones and
// has memory for GETs.
type responder struct {
	*node
	port    uint16
	replies []portals.MDHandle // MDs for replies, by the index in sizes
	urgent  portals.MDHandle   // MD of 8 bytes whose PUTs have priority
	eq      *portals.EQ
	asked   chan asked // receives each PUT with bitsChannel in its match bits, from the handler of such PUTs
}

// asked is a PUT that is to be answered.
type asked struct {
	from nid.ProcessID
	bits uint64
}

func newResponder(addr netip.Addr, tunables lnd.Tunables) (*responder, error) {
	port, err := loopback.FreePort(addr, ownAddr)
	if err != nil {
		return nil, err
	}
	return newResponderAt(addr, port, tunables)
}

func newResponderAt(addr netip.Addr, port uint16, tunables lnd.Tunables) (*responder, error) {
	n, err := newNode(addr, port, tunables)
	if err != nil {
		return nil, err
	}
	r := &responder{node: n, port: port, asked: make(chan asked, 64)}
	if _, err := selftest.New(n.table, selftest.Config{}); err != nil {
		return r, err
	}
	return r, r.open()
}

func (r *responder) open() (err error) {
	if r.replies, err = r.bindSizes(); err != nil {
		return err
	}
	if r.urgent, err = r.bindUrgent(); err != nil {
		return err
	}
	if r.eq, err = r.table.NewEQ(64); err != nil {
		return err
	}
	small := func() []lnd.Segment { return []lnd.Segment{make([]byte, smallSize)} }
	large := func() []lnd.Segment { return []lnd.Segment{make([]byte, bulk)} }
	for _, p := range []struct {
		portal int
		match  portals.Match
		md     portals.MD
	}{
		{portalEcho, portals.Match{Bits: bitsUrgent}, portals.MD{Segments: small(), Options: portals.OpPut, Handler: r.echo}},
		{portalSink, portals.Match{}, portals.MD{Segments: large(), Options: portals.OpPut}},
		{portalSource, portals.Match{}, portals.MD{Segments: large(), Options: portals.OpGet}},
		{portalCall, portals.Match{Ignore: ^uint64(0)}, portals.MD{Segments: small(), Options: portals.OpPut, Handler: r.called}},
	} {
		if err := r.post(p.portal, p.match, p.md); err != nil {
			return err
		}
	}
	pass := func(e *portals.Event) { r.asked <- asked{e.Initiator, e.MatchBits} }
	return r.postSizes(portalEcho, r.eq, r.echo, pass)
}

// postSizes posts a match entry with memory for each of sizes and each way to wait.
func (n *node) postSizes(portal int, eq *portals.EQ, handler, pass func(*portals.Event)) error {
	for i, size := range sizes {
		for bits, md := range map[uint64]portals.MD{bitsHandler: {Handler: handler}, bitsEQ: {EQ: eq}, bitsChannel: {Handler: pass}} {
			md.Segments, md.Options = []lnd.Segment{make([]byte, size.bytes)}, portals.OpPut
			if err := n.post(portal, portals.Match{Bits: bits + uint64(i)}, md); err != nil {
				return err
			}
		}
	}
	return nil
}

// bindUrgent binds an MD whose PUTs have priority.
func (n *node) bindUrgent() (portals.MDHandle, error) {
	return n.table.MDBind(portals.MD{
		Segments: []lnd.Segment{make([]byte, smallSize)}, Threshold: portals.ThresholdInfinite, Options: portals.Priority,
	}, portals.Retain)
}

// bindSizes binds an MD without events for each of sizes.
func (n *node) bindSizes() (mds []portals.MDHandle, err error) {
	for _, size := range sizes {
		md, err := n.bind(size.bytes, nil, nil)
		if err != nil {
			return nil, err
		}
		mds = append(mds, md)
	}
	return mds, nil
}

// echo answers a PUT. If the answer cannot be sent, the other side reports a timeout.
func (r *responder) echo(e *portals.Event) { r.answer(e.Initiator, e.MatchBits) }

func (r *responder) answer(to nid.ProcessID, bits uint64) {
	md := r.urgent
	if bits != bitsUrgent {
		md = r.replies[bits&bitsSize]
	}
	_ = r.table.Put(portals.PutRequest{
		Self: r.id.NID, MD: md, Target: to, Portal: portalReply, MatchBits: bits,
	})
}

// called answers a PUT to portalCall.
func (r *responder) called(e *portals.Event) {
	_ = r.table.Put(portals.PutRequest{
		Self: r.id.NID, MD: r.replies[0], Target: e.Initiator, Portal: portalAnswer, MatchBits: e.MatchBits,
	})
}

// echoFromEQ answers the PUTs that arrive in the EQ, until ctx ends.
func (r *responder) echoFromEQ(ctx context.Context) {
	for {
		e, err := r.eq.Wait(ctx)
		if err != nil {
			return
		}
		r.answer(e.Initiator, e.MatchBits)
	}
}

// echoFromChannel answers the PUTs that come through the channel asked, until ctx ends.
func (r *responder) echoFromChannel(ctx context.Context) {
	for {
		select {
		case a := <-r.asked:
			r.answer(a.from, a.bits)
		case <-ctx.Done():
			return
		}
	}
}
