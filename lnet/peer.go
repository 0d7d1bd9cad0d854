package lnet

import (
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/router"
)

// PeerState is what is known of a peer's reachability.
type PeerState uint8

// States of a peer NI.
const (
	PeerStateUnknown PeerState = iota // no process was ever connected
	PeerStateUp
	PeerStateDown
)

func (s PeerState) String() string {
	switch s {
	case PeerStateUp:
		return "up"
	case PeerStateDown:
		return "down"
	default:
		return "NA"
	}
}

// peerNI is one interface of a remote node (struct lnet_peer_ni): the credits that bound the
// messages in flight to it, and the queue of messages that wait for credits.
//
// Priority messages have the same number of credits for themselves. So they overtake queued
// messages, and need not wait for bulk in flight to a slow peer either.
//
// At most one goroutine at a time hands its messages to the driver, which keeps them in order.
// Any other goroutine leaves its message in the queue. So a handler that sends from inside
// Finalize does not recurse either. Inline messages are an exception: any goroutine may give one to the
// driver while nothing waits, see join.
type peerNI struct {
	nid      nid.NID
	ni       *NI
	remote   *remote              // state of the NID nid, common to all local NIs
	known    atomic.Pointer[Peer] // the node that nid belongs to; nil: not discovered
	traffic  traffic
	contacts contacts
	evicted  atomic.Bool  // no longer in the table: another peerNI stands for nid; set under mu
	joinable atomic.Bool  // inline messages may join the driver's buffers without mu; changed under mu by mayJoin
	answers  atomic.Int64 // number of answers in queue; they are counted in Node.answers, too
	index    int          // index of p in peerTable.order; guarded by the table's lock

	mu          sync.Mutex
	credits     int       // credits of the peer; guarded by mu, like all fields below
	minCredits  int       // fewest credits so far; negative: messages were queued
	queue       lnd.Queue // messages that wait for a peer credit or NI credit
	buffers     int       // number of buffers with inline messages; a buffer counts until the driver has reported the end of its last message
	queuedBytes int       // bytes of headers and payloads of messages that the driver has, inline ones left out
	dialled     int       // number of messages in the driver that had to wait for a connection
	launching   bool      // a goroutine is running launch
	current     bool      // the peer needs no discovery, so nothing is parked
	parked      lnd.Queue // messages that wait for discovery; they need no credits before it ends
	asked       bool      // discovery was asked for and has not ended
	gone        error     // error of the removal of the NI; nil: it exists
	state       PeerState
	connected   []nid.PID              // PIDs of the NID's processes that are connected
	cause       error                  // why the state is PeerStateDown
	failed      nid.PID                // PID of the process that cause is about
	met         bool                   // a process of the NID was connected once
	deadUntil   time.Duration          // until when the NID counts as dead for messages of other nodes, because its process LustrePID could not be reached
	touched     time.Duration          // when p was made, or its last connection ended
	behind      atomic.Pointer[peerNI] // if this peer is a router: the sender of the latest message that came through it
	brought     instant                // if this peer is a router: when it brought a message of another node last
	vetting     vetting                // vetting of the peer as a router, because it brings messages of other nodes

	account account // the peer's part of the NI's credits; guarded by ni.mu

	neighbour *router.Neighbour // the peer's account as sender and next hop of forwarded messages; nil: there were none; guarded by forwarder.mu
}

// send queues m, and hands it to the driver if there is credit. It returns false, and does not queue
// m, if p is no longer in the table of peers: discovery would not find a message that waits in p.
func (p *peerNI) send(m *Message) bool {
	p.mu.Lock()
	if discover := p.discoversGateway(m); discover != nil {
		p.mu.Unlock()
		(*discover)(p.nid)
		p.mu.Lock()
	}
	if p.evicted.Load() {
		p.mu.Unlock()
		return false
	}
	if p.gone != nil {
		p.mu.Unlock()
		p.ni.node.finish(m, p.gone)
		return true
	}
	// SetLink notes that the link is down before it takes p.mu to move what waits in p.queue. So a message that
	// finds the link up here is moved if it has to wait. An answer can leave by this NI only, and waits: the link
	// may come back.
	if err := p.ni.linkError(); err != nil && m.Answers == nil {
		p.mu.Unlock()
		p.ni.node.sendWithoutLink(m, err)
		return true
	}
	if m.RDMAReply {
		p.answer(m)
		return true
	}
	// A message to a node beyond p does not wait for the discovery of p: see discoversGateway.
	if !p.current && !m.found && m.Header.DestNID == p.nid && m.wantsDiscovery() {
		p.park(m)
		return true
	}
	p.minCredits = min(p.minCredits, p.credits-p.queue.Len()-1)
	if !p.launching && p.credits > 0 && p.queue.Len() == 0 && p.ni.takeCredit(p, 1, m.Priority) {
		p.launch(m)
		return true
	}
	if err := p.admit(m); err != nil {
		p.mu.Unlock()
		p.ni.node.finish(m, err)
		return true
	}
	if m.expires == 0 && !m.Routed {
		m.expires = p.ni.node.within(p.ni.node.TransactionTimeout())
	}
	p.queue.Push(&m.Message)
	p.mayJoin()
	p.launch(nil)
	return true
}

// answer hands the REPLY to a GET by RDMA to the driver, without credits (lnet_parse_get, msg_rdma_get).
// The peer's GET keeps its credits there until the REPLY comes. If the REPLY needed credits, two nodes
// that fetch from each other would wait for each other. The driver bounds how many such REPLYs a
// peer can ask for (lnd.Delivery.RDMAGet). answer is entered with p.mu held and returns with it released.
func (p *peerNI) answer(m *Message) {
	p.queuedBytes += m.wireBytes()
	p.mu.Unlock()
	p.ni.lower.Send(&m.Message)
}

// answered notes that the driver has finalized a message of size bytes that held no credits.
func (p *peerNI) answered(size int) {
	p.mu.Lock()
	p.queuedBytes -= size
	p.mu.Unlock()
}

// creditBack returns the credit of a message of size bytes, and lets queued messages go.
// waited says that the message had to wait for its connection.
func (p *peerNI) creditBack(size int, waited bool) {
	p.mu.Lock()
	p.credits++
	p.queuedBytes -= size
	if waited {
		p.dialled--
	}
	p.launch(nil)
}

// goOn hands queued messages to the driver, because the NI has credits again.
func (p *peerNI) goOn() {
	p.mu.Lock()
	p.launch(nil)
}

// launch hands m, for which an NI credit was taken, and then queued messages
// to the driver while there are credits. It is entered with p.mu held and
// returns with it released.
func (p *peerNI) launch(m *Message) {
	if p.launching {
		p.mu.Unlock()
		return
	}
	p.launching = true
	if m == nil {
		m = p.launchSmall()
	}
	for ; m != nil; m = p.launchSmall() {
		p.credits--
		p.queuedBytes += m.wireBytes()
		p.mu.Unlock()
		if err := p.unfit(m); err != nil {
			p.ni.Finalize(&m.Message, err)
		} else {
			p.ni.lower.Send(&m.Message)
		}
		p.mu.Lock()
	}
	p.launching = false
	p.mu.Unlock()
}

// launchSmall hands the small messages at the head of the queue to the driver, as inline ones, and returns
// the message that follows them in the queue, if that message has its credits. The caller holds p.mu, which
// launchSmall releases while it calls the driver.
func (p *peerNI) launchSmall() *Message {
	for {
		flush, undo, taken := p.postQueued()
		if !taken && flush == nil && !undo {
			return p.next()
		}
		p.mu.Unlock()
		if undo {
			p.ni.undoCredit(p)
		}
		if flush != nil {
			flush.Flush()
		}
		p.mu.Lock()
		if !taken {
			return p.next()
		}
	}
}

// next removes the first message that has its credits from the queue, and returns it; nil if there is none. The
// caller holds p.mu.
func (p *peerNI) next() *Message {
	ready, urgent := min(p.queue.Len(), p.credits), p.queue.Urgent()
	if urgent && p.credits > -p.ni.cfg.Tunables.PeerCredits {
		ready = max(ready, 1)
	}
	if ready <= 0 {
		p.ni.wantsNone(p)
		return nil
	}
	if !p.ni.takeCredit(p, ready, urgent) {
		return nil
	}
	m := owner(p.queue.Pop())
	p.ni.node.leave(m)
	return m
}

// unfit returns the reason why a message that waited must not be sent any more, or nil
// (lnet_post_send_locked).
func (p *peerNI) unfit(m *Message) error {
	if m.aborted() {
		return syscall.ECANCELED
	}
	if m.expires != 0 && p.ni.node.cfg.Clock.Now() > m.expires {
		return errLate
	}
	if m.LeaveBy != 0 && m.Late(p.ni.node.cfg.Clock.Now()) {
		return lnd.ErrLate
	}
	return nil
}

// errLate ends a message whose deadline has passed.
var errLate = lnd.Failed(lnd.NetworkTimeout, syscall.ETIMEDOUT)

// failQueued fails all waiting messages, now and in future, because the NI is gone.
func (p *peerNI) failQueued(cause error) {
	p.mu.Lock()
	p.gone = cause
	p.mayJoin()
	parked := p.parked.Take(func(*lnd.Message) bool { return true })
	list := p.queue.Take(func(*lnd.Message) bool { return true })
	p.mu.Unlock()
	p.ni.node.finishAll(list, cause)
	p.ni.node.finishAll(parked, cause)
}

// up notes that a process at this NID is connected. It returns false if the peer was evicted
// meanwhile.
func (p *peerNI) up(pid nid.PID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.evicted.Load() {
		return false
	}
	if !slices.Contains(p.connected, pid) {
		p.connected = append(p.connected, pid)
	}
	p.state, p.cause, p.met, p.deadUntil = PeerStateUp, nil, true, 0
	return true
}

// down notes that a process is not connected any more, or could not be reached. When no process at the NID is
// connected any more, the NID is down.
func (p *peerNI) down(pid nid.PID, cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connected = slices.DeleteFunc(p.connected, func(o nid.PID) bool { return o == pid })
	if len(p.connected) == 0 {
		p.touched = p.ni.node.cfg.Clock.Now()
		if pid == nid.LustrePID && p.state != PeerStateUp { // no connection could be made
			p.deadUntil = p.touched + deadTime
		}
		p.state, p.cause, p.failed = PeerStateDown, cause, pid
	}
}

// reach reports whether a process is connected (up), or is known not to be (down), and then the cause.
// Neither is true of a process that was never connected nor dialled.
func (p *peerNI) reach(pid nid.PID) (up, down bool, cause error) {
	if p.beyond() {
		return p.reachBeyond(pid)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.connected, pid), p.state == PeerStateDown && p.failed == pid, p.cause
}

// evict marks a peer as evicted if it is idle.
func (p *peerNI) evict() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.unused() {
		return false
	}
	p.evicted.Store(true) // joinable is false already, because an idle peer has no buffers
	return true
}

// idle reports whether nothing is queued or in flight and nothing connected, and
// whether p was connected once.
func (p *peerNI) idle() (idle, met bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unused(), p.met
}

func (p *peerNI) unused() bool {
	return p.queue.Len() == 0 && p.parked.Len() == 0 && p.queuedBytes == 0 && p.buffers == 0 && !p.launching && p.state != PeerStateUp
}
