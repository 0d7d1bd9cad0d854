package simlnd

import (
	"ulnet/lnd"
	"ulnet/lnet/machine"
)

// A connection has a lane for each priority. The messages of a lane keep their order, and each lane
// has a window of its own.
const (
	bulk   = 0
	urgent = 1
	lanes  = 2
)

func laneOf(priority bool) int {
	if priority {
		return urgent
	}
	return bulk
}

// lane is the state of a connection for the messages of one priority: the bytes that were sent and
// received, and the messages that have arrived and wait for lnet.
type lane struct {
	sent    uint64    // number of bytes that this side has sent
	acked   uint64    // how many of these bytes the peer has taken, or knows to be lost
	taken   uint64    // number of the peer's bytes that this side has taken
	told    uint64    // value of taken in the latest packet to the peer
	held    *delivery // delivery that lnet holds; nil: none
	waiting []*packet // packets that arrived after the message in held
}

func (l *lane) room(n *ni) bool { return l.sent-l.acked < uint64(n.host.fabric.cfg.Window) }

// end resets the lane for the next connection.
func (l *lane) end() {
	if l.held != nil {
		l.held.abandon()
	}
	*l = lane{}
}

// transmit sends m on the open connection.
func (p *peer) transmit(m *lnd.Message) {
	h, i := p.ni.host, laneOf(m.Priority)
	var pk *packet
	if h.out != nil {
		pk = h.fabric.pool.take(m.Payload.Length)
		pk.single = !h.fabric.duplicates(h.incarnation.Node, p.id)
	} else {
		pk = newPacket(m.Payload.Length)
	}
	pk.fill(m)
	pk.lane = uint8(i)
	p.lanes[i].sent += uint64(pk.size())
	p.emit(pk, m.Priority)
	p.await()
	p.ni.up.Finalize(m, nil)
}

// control sends a packet that has no message.
func (p *peer) control(kind packetKind) {
	h := p.ni.host
	pk := new(packet)
	if h.out != nil {
		pk = h.fabric.pool.take(0)
		pk.single = !h.fabric.duplicates(h.incarnation.Node, p.id)
	}
	pk.kind = kind
	p.emit(pk, false)
}

// emit completes a packet and gives it to the network.
func (p *peer) emit(pk *packet, priority bool) {
	pk.net, pk.pid, pk.from, pk.to = p.ni.net, p.ni.pid, p.ni.rail, p.rail
	pk.src, pk.dst = p.mine, p.theirs
	if p.state == opening {
		pk.dst = 0
	}
	for i := range p.lanes {
		l := &p.lanes[i]
		pk.sent[i], pk.taken[i], l.told = l.sent, l.taken, l.taken
	}
	p.ni.host.emit(p.id, pk, priority)
}

// heard records what a packet of the connection says about the window: how many bytes the peer has
// taken.
func (p *peer) heard(pk *packet) {
	unanswered := false
	for i := range p.lanes {
		l := &p.lanes[i]
		if pk.taken[i] > l.acked {
			l.acked = pk.taken[i]
			p.interval = firstInterval
			if p.progress != machine.Never {
				p.progress = p.now()
			}
		}
		unanswered = unanswered || l.acked != l.sent
	}
	p.asked = machine.Never
	if unanswered {
		p.await()
	}
}

// answer handles a packetAsk. All packets that the peer sent before it have arrived by now or are
// lost. So the bytes of the lost ones count as taken, too.
func (p *peer) answer(pk *packet) {
	for i := range p.lanes {
		if l := &p.lanes[i]; l.held == nil {
			l.taken = max(l.taken, pk.sent[i])
		}
	}
	p.control(packetTaken)
}

// tookSome is called when this side has taken bytes of the lane. It tells the peer the number of
// bytes taken, if that is half a window or more above the number that the peer was last told.
func (p *peer) tookSome(l *lane) {
	if l.taken-l.told >= uint64(p.ni.host.fabric.cfg.Window)/2 {
		p.control(packetTaken)
	}
}

// refill sends waiting messages, as many as the window allows now.
func (p *peer) refill() {
	if p.queue.Len() > 0 {
		p.push()
	}
	if p.queue.Len() == 0 {
		p.progress = machine.Never
	}
}
