package lnet

import (
	"sync"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// NI is one network interface of the node (struct lnet_ni). To its driver it
// is the [lnd.Upcalls].
type NI struct {
	node    *Node
	cfg     lnd.Config
	nid     nid.NID // fixed once the NI is registered
	lower   lnd.NI  // nil until open
	opened  chan struct{}
	traffic traffic

	mu         sync.Mutex
	credits    int     // guarded by mu
	minCredits int     // guarded by mu
	waitHead   *PeerNI // peers with messages but without NI credit, FIFO; guarded by mu
	waitTail   *PeerNI // guarded by mu
}

func newNI(n *Node, cfg lnd.Config) *NI {
	return &NI{
		node: n, cfg: cfg, opened: make(chan struct{}),
		credits: cfg.Tunables.Credits, minCredits: cfg.Tunables.Credits,
	}
}

// NID is the NI's NID.
func (ni *NI) NID() nid.NID { return ni.nid }

// Net is the NI's net.
func (ni *NI) Net() nid.Net { return ni.cfg.Net }

// Lower is the driver's half of the NI, for its snapshot.
func (ni *NI) Lower() lnd.NI { return ni.lower }

// Recv continues a held delivery; d.Sink says where its payload goes.
func (ni *NI) Recv(d *lnd.Delivery) { ni.lower.Recv(d) }

// Discard continues a held delivery by dropping it.
func (ni *NI) Discard(d *lnd.Delivery, why DropReason) {
	ni.drop(d, why)
	ni.lower.Recv(d)
}

// open lets upcalls through that came while the driver was starting; nil says
// that the start failed.
func (ni *NI) open(lower lnd.NI) {
	ni.lower = lower
	close(ni.opened)
}

// takeCredit takes an NI credit for p, or puts p on the list of those who
// wait for one. The caller holds p.mu.
func (ni *NI) takeCredit(p *PeerNI) bool {
	ni.mu.Lock()
	defer ni.mu.Unlock()
	if ni.credits > 0 {
		ni.credits--
		ni.minCredits = min(ni.minCredits, ni.credits)
		return true
	}
	if !p.waiting {
		p.waiting = true
		if ni.waitTail == nil {
			ni.waitHead = p
		} else {
			ni.waitTail.nextWaiting = p
		}
		ni.waitTail = p
		ni.minCredits = min(ni.minCredits, -1)
	}
	return false
}

// returnCredit gives an NI credit back and lets waiting peers go on, in their
// order, until one takes it. A peer whose messages have gone meanwhile, or that
// has no peer credit, leaves it to the next.
func (ni *NI) returnCredit() {
	ni.mu.Lock()
	ni.credits++
	for ni.credits > 0 && ni.waitHead != nil {
		p := ni.waitHead
		ni.waitHead, p.nextWaiting = p.nextWaiting, nil
		if ni.waitHead == nil {
			ni.waitTail = nil
		}
		ni.mu.Unlock()
		p.creditBack(0, true)
		ni.mu.Lock()
	}
	ni.mu.Unlock()
}

// Finalize implements lnd.Upcalls: m has left or failed (lnet_finalize).
func (ni *NI) Finalize(lm *lnd.Message, err error) {
	m := owner(lm)
	p, size := m.peer, m.wireBytes()
	ni.node.finish(m, err)
	if p != nil { // lo has neither peers nor credits
		ni.returnCredit()
		p.creditBack(size, false)
	}
}

// finish counts a message that ended and tells the upper layer. m belongs to
// the upper layer afterwards.
func (n *Node) finish(m *Message, err error) {
	if err != nil {
		n.errors.Add(1)
	} else if m.ni != nil {
		m.ni.traffic.countSent(m.Header.Type, m.Payload.Length)
		if m.peer != nil {
			m.peer.traffic.countSent(m.Header.Type, m.Payload.Length)
		}
	}
	n.inFlight.dec()
	n.upper.Sent(m, err)
}

// PeerUp implements lnd.Upcalls.
func (ni *NI) PeerUp(peer nid.ProcessID) {
	if p := ni.node.peers.find(peer.NID); p != nil {
		p.setState(PeerStateUp, nil)
	}
}

// PeerDown implements lnd.Upcalls.
func (ni *NI) PeerDown(peer nid.ProcessID, cause error) {
	if p := ni.node.peers.find(peer.NID); p != nil {
		p.setState(PeerStateDown, cause)
	}
}

// started waits until the NI is registered, which is at once after its
// driver's Startup returned; it fails when the start failed.
func (ni *NI) started() error {
	<-ni.opened
	if ni.lower == nil {
		return syscall.ENETDOWN
	}
	return nil
}
