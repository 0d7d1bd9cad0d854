package simlnd

import (
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// peer is what an NI knows of the NI on another host: at most one connection.
type peer struct {
	ni *ni
	peerKey
	pid   nid.PID
	state connState
	// The number that each end has given to the connection: mine is of this end, theirs of the
	// peer. Each end numbers its connections in rising order, across its incarnations. When the
	// connection ends, the value of theirs stays, by which late packets are recognized.
	mine, theirs uint64
	lanes        [lanes]lane
	queue        lnd.Queue // messages that wait for the connection or its window

	timer    machine.Deadline[func()]
	asked    time.Duration // since when this side has been waiting for an answer of the peer; Never: it does not wait
	progress time.Duration // while messages wait: when they began to wait or, if later, when the peer last took bytes; else Never
	interval time.Duration // time until packetOpen, or the question about a full window, is sent again
	cache    any           // lnet's own data of this connection; see lnd.Delivery
}

type connState uint8

const (
	idle    connState = iota
	opening           // packetOpen was sent, and is not answered
	open
)

// firstInterval is how soon a packetOpen, or a question about a full window, is
// repeated; later it takes twice as long each time.
const firstInterval = 200 * time.Millisecond

func newPeer(n *ni, at peerKey) *peer {
	p := &peer{ni: n, peerKey: at, pid: nid.LustrePID, asked: machine.Never, progress: machine.Never}
	p.timer.Of = p.tick
	return p
}

func (p *peer) name() nid.ProcessID {
	return nid.ProcessID{NID: NIDOn(p.ni.net, p.id, p.rail), PID: p.pid}
}

// lnetIncarnation returns the incarnation of the peer's node, as lnet knows it.
func (p *peer) lnetIncarnation() uint64 { return lnetIncarnation(p.theirs>>32, p.id) }

func (p *peer) now() time.Duration { return p.ni.host.Clock().Now() }

// rename chooses the number that this end gives to the next connection to the peer.
func (p *peer) rename() {
	h := p.ni.host
	h.opened++
	p.mine = (h.incarnation.Number+1)<<32 | h.opened
}

// push sends the queued messages that the window allows.
func (p *peer) push() {
	switch p.state {
	case idle:
		p.rename()
		p.state, p.interval = opening, firstInterval
		p.await()
		p.control(packetOpen)
		p.arm(p.now() + p.interval)
	case open:
		for p.queue.Len() > 0 && p.lanes[laneOf(p.queue.Urgent())].room(p.ni) {
			if m := p.queue.Pop(); m.Late(p.now()) {
				p.ni.up.Finalize(m, lnd.ErrLate)
			} else {
				p.transmit(m)
			}
		}
		if p.queue.Len() > 0 && p.progress == machine.Never {
			p.progress = p.now()
			p.arm(p.now() + p.interval)
		}
	}
}

// established begins a connection. The packet pk has the number that the peer has given to the
// connection.
func (p *peer) established(pk *packet) {
	p.state, p.theirs, p.pid = open, pk.src, pk.pid
	p.interval, p.asked, p.progress = firstInterval, machine.Never, machine.Never
	if h := p.ni.host; h.out != nil {
		h.out.Watch = append(h.out.Watch, p.id)
	}
	p.ni.up.PeerUp(p.name())
}

// opened handles the packetOpen pk.
func (p *peer) opened(pk *packet) {
	switch {
	case p.state == open && pk.src == p.theirs: // the answer to an earlier copy was lost, or this is a duplicate
	case pk.src <= p.theirs:
		return // a late packet of an earlier connection
	default:
		if p.state == open {
			p.down(syscall.ECONNRESET, false)
		}
		if p.state == idle {
			p.rename()
		}
		p.established(pk)
	}
	p.control(packetTaken)
	p.push()
}

// belongs reports whether a packet is of this connection. If the connection is being opened, a packet
// with its number shows that the peer has accepted it, and belongs makes it established.
func (p *peer) belongs(pk *packet) bool {
	switch {
	case p.state == idle || pk.dst != p.mine:
		return false
	case p.state == opening:
		p.established(pk)
	}
	return pk.src == p.theirs
}

// down ends the connection, or the attempt to open one, and fails the messages that wait for it.
func (p *peer) down(cause error, tell bool) {
	if p.state == idle {
		return
	}
	if tell && p.state == open {
		p.control(packetReset)
	}
	if h := p.ni.host; h.out != nil && p.state == open && !h.connected(p.id, p) {
		h.out.Ignore = append(h.out.Ignore, p.id)
	}
	class := failureOf(cause, p.state)
	p.state, p.mine = idle, 0
	p.asked, p.progress, p.cache = machine.Never, machine.Never, nil
	for i := range p.lanes {
		p.lanes[i].end()
	}
	p.ni.up.PeerDown(p.name(), cause)
	for m := p.queue.Take(all); m != nil; {
		next := m.Link
		m.Link = nil
		p.ni.up.Finalize(m, lnd.Failed(class, cause))
		m = next
	}
}

// failureOf returns the failure class of messages that fail because a connection, or an attempt to
// open one, ended for the reason cause.
func failureOf(cause error, state connState) lnd.Failure {
	switch {
	case cause == syscall.ESHUTDOWN:
		return lnd.FailureNone
	case cause == syscall.EPROTO:
		return lnd.RemoteError
	case cause != syscall.ETIMEDOUT:
		return lnd.RemoteDropped
	case state == opening:
		return lnd.NetworkTimeout
	default:
		return lnd.RemoteTimeout
	}
}

func all(*lnd.Message) bool { return true }

// arm makes sure that tick is called at the instant at, or earlier if it is due earlier anyway.
func (p *peer) arm(at time.Duration) {
	h := p.ni.host
	h.mu.Lock()
	if !p.timer.IsSet() || at < p.timer.At() {
		h.timers.Set(&p.timer, at)
	}
	h.mu.Unlock()
}

// await records that from now on this side waits for an answer of the peer.
func (p *peer) await() {
	if p.asked == machine.Never {
		p.asked = p.now()
		if !p.timer.IsSet() {
			p.arm(p.asked + p.ni.timeout/2)
		}
	}
}

// tick sends an unanswered packetOpen or packetAsk again, and ends the connection if the peer does
// not answer for too long.
func (p *peer) tick() {
	now, limit := p.now(), p.ni.timeout
	switch {
	case p.state == idle || p.asked == machine.Never:
	case now >= p.asked+limit || p.progress != machine.Never && now >= p.progress+limit:
		p.down(syscall.ETIMEDOUT, true)
	case p.state == opening:
		p.again(packetOpen)
	case p.progress != machine.Never || now >= p.asked+limit/2:
		p.again(packetAsk)
	default:
		p.arm(p.asked + limit/2)
	}
}

// again sends a packetOpen or packetAsk again, and sets the time of the next repetition.
func (p *peer) again(kind packetKind) {
	p.control(kind)
	p.interval = min(2*p.interval, p.ni.timeout/8)
	at := min(p.now()+p.interval, p.asked+p.ni.timeout)
	if p.progress != machine.Never {
		at = min(at, p.progress+p.ni.timeout)
	}
	p.arm(at)
}
