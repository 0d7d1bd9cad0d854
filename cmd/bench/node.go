package main

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"ulnet/lnd"
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

func newNode(addr netip.Addr, port uint16, tunables lnd.Tunables) *node {
	return newNodeWith(addr, socklnd.Config{AcceptPort: port}, tunables)
}

func newNodeWith(addr netip.Addr, cfg socklnd.Config, tunables lnd.Tunables) *node {
	return newNodeOn(tcp, addr, localnode.Config{TCP: cfg, Tunables: tunables})
}

// newNodeOn starts a node with one NI.
func newNodeOn(net nid.Net, addr netip.Addr, cfg localnode.Config) *node {
	cfg.Networks = networks.Interface{Net: net, Name: addr.String()}.String()
	whole, err := localnode.Start(cfg)
	if err != nil {
		succeed(fmt.Errorf("%s: %w", cfg.Networks, err))
	}
	return &node{clock: whole.LNet().Clock(), whole: whole, table: whole.Table(), id: processOf(net, addr)}
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
func (n *node) post(portal int, match portals.Match, md portals.MD) {
	md.Threshold = portals.ThresholdInfinite
	md.Options |= portals.ManageRemote
	must(n.table.MDAttach(must(n.table.MEAttach(portal, match, portals.Retain, portals.After)), md, portals.Retain))
}

// bind binds an MD to send from or to fetch into.
func (n *node) bind(size int, handler func(*portals.Event), eq *portals.EQ) portals.MDHandle {
	return must(n.table.MDBind(portals.MD{
		Segments: []lnd.Segment{make([]byte, size)}, Threshold: portals.ThresholdInfinite,
		Handler: handler, EQ: eq,
	}, portals.Retain))
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

func newResponder(addr netip.Addr, port uint16, tunables lnd.Tunables) *responder {
	r := &responder{node: newNode(addr, port, tunables), port: port, asked: make(chan asked, 64)}
	must(selftest.New(r.table, selftest.Config{}))
	r.open()
	return r
}

func (r *responder) open() {
	r.replies, r.urgent, r.eq = r.bindSizes(), r.bindUrgent(), must(r.table.NewEQ(64))
	memory := func(size int) []lnd.Segment { return []lnd.Segment{make([]byte, size)} }
	r.post(portalEcho, portals.Match{Bits: bitsUrgent}, portals.MD{Segments: memory(smallSize), Options: portals.OpPut, Handler: r.echo})
	r.post(portalSink, portals.Match{}, portals.MD{Segments: memory(bulk), Options: portals.OpPut})
	r.post(portalSource, portals.Match{}, portals.MD{Segments: memory(bulk), Options: portals.OpGet})
	r.post(portalCall, portals.Match{Ignore: ^uint64(0)}, portals.MD{Segments: memory(smallSize), Options: portals.OpPut, Handler: r.called})
	r.postSizes(portalEcho, r.eq, r.echo, func(e *portals.Event) { r.asked <- asked{e.Initiator, e.MatchBits} })
}

// postSizes posts a match entry with memory for each of sizes and each way to wait.
func (n *node) postSizes(portal int, eq *portals.EQ, handler, pass func(*portals.Event)) {
	for i, size := range sizes {
		for bits, md := range map[uint64]portals.MD{bitsHandler: {Handler: handler}, bitsEQ: {EQ: eq}, bitsChannel: {Handler: pass}} {
			md.Segments, md.Options = []lnd.Segment{make([]byte, size.bytes)}, portals.OpPut
			n.post(portal, portals.Match{Bits: bits + uint64(i)}, md)
		}
	}
}

// bindUrgent binds an MD whose PUTs have priority.
func (n *node) bindUrgent() portals.MDHandle {
	return must(n.table.MDBind(portals.MD{
		Segments: []lnd.Segment{make([]byte, smallSize)}, Threshold: portals.ThresholdInfinite, Options: portals.Priority,
	}, portals.Retain))
}

// bindSizes binds an MD without events for each of sizes.
func (n *node) bindSizes() (mds []portals.MDHandle) {
	for _, size := range sizes {
		mds = append(mds, n.bind(size.bytes, nil, nil))
	}
	return mds
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
