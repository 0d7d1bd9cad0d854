package lnet

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
)

// NI is one network interface of the node (struct lnet_ni). To its driver it
// is the [lnd.Upcalls].
type NI struct {
	node     *Node
	cfg      lnd.Config
	nid      nid.NID         // NID of the NI; fixed once it is registered
	lower    lnd.NI          // the driver's NI; fixed once registered; nil if starting failed
	caster   lnd.Multicaster // lower, if that has multicast, else nil; fixed like nid
	poster   lnd.Inliner     // lower, if it copies small messages, else nil; fixed like nid
	open     atomic.Bool     // the NI is registered, so upcalls need not wait
	opened   chan struct{}
	traffic  traffic
	contacts contacts    // for lo: contacts of this node's own processes
	heard    instant     // when another node was last heard by the NI; recorded only while this node forwards messages
	silent   atomic.Bool // router.Silence has found that the NI's net is down
	recent   recentPeers // cache of peers that were looked up lately and are still in the table
	link     linkState
	rail     path.Local    // state of the NI by which package path compares it with others
	failures failureCounts // failures of messages that the NI sent or received

	ownTimeout bool // the time-out does not follow from the node's settings; guarded by health.setting

	stopping atomic.Bool   // set when the NI is being removed
	pending  atomic.Int64  // messages given to the NI's peers and not ended
	drained  chan struct{} // gets a value when pending falls to 0 while stopping
	removed  bool          // the NI's peers are forgotten; guarded by the peer table's lock
	gone     chan struct{} // closed when the NI has left the node, with removal
	removal  error         // result of RemoveNI; set before gone is closed

	joining sync.Mutex                   // held while the driver joins or leaves a group; no other call is made with it
	groups  atomic.Pointer[[]membership] // groups that were joined, and for which portals; replaced as a whole, under joining

	mu sync.Mutex
	tx niCredits // credits of the NI; guarded by mu
}

func newNI(n *Node, cfg lnd.Config) *NI {
	ni := &NI{
		node: n, cfg: cfg, opened: make(chan struct{}), drained: make(chan struct{}, 1),
		gone: make(chan struct{}), tx: newCredits(cfg.Tunables.Credits),
	}
	ni.rail.Owner = ni
	ni.groups.Store(new([]membership))
	return ni
}

// NID returns the NID of the NI.
func (ni *NI) NID() nid.NID { return ni.nid }

// Net returns the net of the NI.
func (ni *NI) Net() nid.Net { return ni.cfg.Net }

// Lower is the driver's half of the NI, for its snapshot.
func (ni *NI) Lower() lnd.NI { return ni.lower }

// Stopping reports whether the NI is leaving the node. Nothing may be held
// for it from then on; it is set before Upper.Detach is called.
func (ni *NI) Stopping() bool { return ni.stopping.Load() }

// Recv continues a held delivery; d.Sink says where its payload goes.
func (ni *NI) Recv(d *lnd.Delivery) { ni.lower.Recv(d) }

// Discard drops a delivery that is held.
func (ni *NI) Discard(d *lnd.Delivery, why DropReason) {
	ni.drop(d, why)
	ni.lower.Recv(d)
}

// Finalize implements lnd.Upcalls: m has left or failed (lnet_finalize).
func (ni *NI) Finalize(lm *lnd.Message, err error) {
	m := owner(lm)
	p, size, waited, uncredited := m.peer, m.wireBytes(), m.waited, m.RDMAReply
	if p == nil { // the NI is lo, which has neither peers nor credits
		ni.node.finish(m, err)
		return
	}
	again := errors.Is(err, lnd.ErrWithdrawn) || err != nil && p.judge(m, err)
	if again {
		m.setAside()
	} else {
		if err == nil && !m.Recovery {
			ni.heal()
		}
		ni.node.finish(m, err)
	}
	if uncredited {
		p.answered(size)
	} else {
		if !waited {
			ni.returnCredits(p, 1)
		}
		p.creditBack(size, waited)
	}
	if again {
		ni.node.sendLater(m, err)
		ni.ended()
	}
}

// finish counts a message that ended and tells the upper layer. m belongs to
// the upper layer afterwards.
func (n *Node) finish(m *Message, err error) {
	if m.transit != nil {
		n.finishTransit(m, err)
		return
	}
	if err != nil {
		n.errors.Add(1)
	} else if m.ni != nil {
		m.ni.traffic.countSent(m.Header.Type, m.Payload.Length)
		if m.peer != nil {
			m.peer.traffic.countSent(m.Header.Type, m.Payload.Length)
		}
		if m.Group == 0 {
			n.noteSent(m)
		}
	}
	n.countResent(m, err)
	n.inFlight.dec()
	n.leave(m)
	m.leaveHop()
	ni := m.ni
	if m.peer == nil && m.Group == 0 { // the message was not sent, or was sent by lo
		ni = nil
	}
	n.upper.Sent(m, err)
	if ni != nil {
		ni.ended()
	}
}

// ended counts that a message which this node has sent to one of ni's peers was finalized.
func (ni *NI) ended() { ni.endedAll(1) }

// endedAll does what ended does, for n messages.
func (ni *NI) endedAll(n int) {
	if ni.pending.Add(-int64(n)) == 0 && ni.stopping.Load() {
		ni.signalDrained()
	}
}

func (ni *NI) signalDrained() {
	select {
	case ni.drained <- struct{}{}:
	default:
	}
}

// drain waits until every message that was given to a peer has ended, or until ctx ends. It
// returns how many messages have not ended.
func (ni *NI) drain(ctx context.Context) (left int64) {
	for {
		left = ni.pending.Load()
		if left == 0 {
			return 0
		}
		select {
		case <-ni.drained:
		case <-ctx.Done():
			return left
		}
	}
}

// PeerUp implements lnd.Upcalls.
func (ni *NI) PeerUp(peer nid.ProcessID) {
	if ni.started() != nil {
		return
	}
	for {
		p, err := ni.node.peers.get(peer.NID, ni)
		if err != nil {
			return
		}
		if p.up(peer.PID) {
			break
		}
	}
	ni.node.peerChanged(peer, nil)
}

// PeerDown implements lnd.Upcalls.
func (ni *NI) PeerDown(peer nid.ProcessID, cause error) {
	if p := ni.node.peers.find(peer.NID, ni); p != nil {
		p.down(peer.PID, cause)
	}
	ni.node.peerChanged(peer, cmp.Or[error](cause, syscall.ENOTCONN))
}

// started makes upcalls that come while the driver is starting wait until the NI is
// registered, which happens right after Startup. It fails when the start failed.
func (ni *NI) started() error {
	if ni.open.Load() {
		return nil
	}
	<-ni.opened
	if !ni.open.Load() {
		return syscall.ENETDOWN
	}
	return nil
}
