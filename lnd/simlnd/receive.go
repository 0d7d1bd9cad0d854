package simlnd

import (
	"syscall"

	"ulnet/lnd"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
)

// receive handles the packet pk.
func (h *Host) receive(from sim.NodeID, pk *packet) {
	if h.fabric.severed(peerKey{from, pk.from}, peerKey{h.incarnation.Node, pk.to}) {
		h.fabric.pool.put(pk)
		return
	}
	n := h.niOn(pk.net, pk.to)
	switch {
	case n != nil && pk.kind == packetCast:
		n.caught(from, pk)
		return
	case n != nil:
		n.receive(from, pk)
		return
	}
	h.refuse(from, pk)
	h.fabric.pool.put(pk)
}

// niOn returns the NI on a net and rail; nil if there is none.
func (h *Host) niOn(net nid.Net, rail Rail) *ni {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ni := range h.nis {
		if ni.net == net && ni.rail == rail && !ni.closed {
			return ni
		}
	}
	return nil
}

// refuse answers a packet that belongs to no connection.
func (h *Host) refuse(to sim.NodeID, pk *packet) {
	if pk.kind == packetReset || pk.kind == packetCast {
		return
	}
	r := h.fabric.pool.take(0)
	r.kind, r.net, r.dst, r.from, r.to = packetReset, pk.net, pk.src, pk.to, pk.from
	r.single = !h.fabric.duplicates(h.incarnation.Node, to)
	h.emit(to, r, false)
}

func (n *ni) receive(from sim.NodeID, pk *packet) {
	pool, at := &n.host.fabric.pool, peerKey{from, pk.from}
	if pk.kind == packetOpen {
		n.peer(at).opened(pk)
		pool.put(pk)
		return
	}
	p := n.peers[at]
	if pk.kind == packetReset {
		if p != nil && p.state != idle && pk.dst == p.mine {
			p.wasReset()
		}
		pool.put(pk)
		return
	}
	if p == nil || !p.belongs(pk) {
		n.host.refuse(from, pk)
		pool.put(pk)
		return
	}
	p.heard(pk)
	switch pk.kind {
	case packetData:
		p.data(pk)
	case packetAsk:
		p.answer(pk)
		pool.put(pk)
	default:
		pool.put(pk)
	}
	p.refill()
}

// wasReset ends the connection, or the attempt, that the peer has reset.
func (p *peer) wasReset() {
	if p.state == opening {
		p.down(syscall.ECONNREFUSED, false)
	} else {
		p.down(syscall.ECONNRESET, false)
	}
}

// refused handles a packet of this host that found no process at its receiver.
func (h *Host) refused(by sim.NodeID, pk *packet) {
	at := peerKey{by, pk.to}
	if n := h.niOn(pk.net, pk.from); n != nil && pk.kind != packetCast && !h.fabric.severed(peerKey{h.incarnation.Node, pk.from}, at) {
		if p := n.peers[at]; p != nil && p.state != idle && p.mine == pk.src {
			p.wasReset()
		}
	}
	h.fabric.pool.put(pk)
}

// died handles the news that the process on a host has died. If a connection to the host's next
// process has been opened before the news comes, that connection stays open.
func (h *Host) died(id sim.NodeID) {
	h.mu.Lock()
	nis := h.nis
	h.mu.Unlock()
	f := h.fabric
	for _, n := range nis {
		for _, p := range n.order {
			switch {
			case p.id != id || p.state != open || f.severed(peerKey{h.incarnation.Node, n.rail}, p.peerKey):
			case f.Up(id) && f.hosts[id].incarnation.Number+1 == p.theirs>>32:
			default:
				p.down(syscall.ECONNRESET, false)
			}
		}
	}
}

// connected reports whether any peer but the excluded one has an open connection to the host.
func (h *Host) connected(id sim.NodeID, but *peer) bool {
	h.mu.Lock()
	nis := h.nis
	h.mu.Unlock()
	for _, n := range nis {
		for _, p := range n.order {
			if p.id == id && p != but && p.state == open {
				return true
			}
		}
	}
	return false
}

// data handles a packet with an LNet message.
func (p *peer) data(pk *packet) {
	l := &p.lanes[pk.lane]
	if l.held != nil {
		l.waiting = append(l.waiting, pk)
		return
	}
	p.deliver(l, pk)
}

// delivery is a message that lnet is receiving.
type delivery struct {
	lnd.Delivery
	peer    *peer
	lane    *lane
	packet  *packet
	parsing bool // Parse has not returned; guarded by the host's lock, like all fields below
	recv    bool // Recv has been called
	broken  bool // the connection has ended
}

func (f *Fabric) takeDelivery() *delivery {
	if n := len(f.deliveries); n > 0 {
		d := f.deliveries[n-1]
		f.deliveries = f.deliveries[:n-1]
		return d
	}
	d := new(delivery)
	d.Driver = d
	return d
}

func (f *Fabric) putDelivery(d *delivery) {
	d.peer, d.lane, d.packet = nil, nil, nil
	d.recv, d.broken, d.Group = false, false, 0
	d.Sink, d.Cache, d.Owner = lnd.Payload{}, nil, nil
	f.deliveries = append(f.deliveries, d)
}

// deliver asks lnet where the payload of a message goes, and copies it there unless lnet holds the
// message.
func (p *peer) deliver(l *lane, pk *packet) {
	h := p.ni.host
	d := h.fabric.takeDelivery()
	d.peer, d.lane, d.packet = p, l, pk
	d.Header, d.From, d.Sink, d.Cache = pk.header, p.name(), lnd.Payload{}, p.cache
	d.Incarnation, d.ReceivedAt = p.lnetIncarnation(), p.now()
	d.parsing = true
	answer, err := p.ni.up.Parse(&d.Delivery)
	p.cache = d.Cache
	h.mu.Lock()
	d.parsing = false
	recv := d.recv
	h.mu.Unlock()
	switch {
	case err != nil:
		h.fabric.pool.put(pk)
		h.fabric.putDelivery(d)
		p.down(syscall.EPROTO, true)
	case answer == lnd.Hold && !recv:
		l.held = d
	default:
		d.complete()
	}
}

// complete copies the payload to its sink.
func (d *delivery) complete() {
	p, l, pk := d.peer, d.lane, d.packet
	f := p.ni.host.fabric
	d.Sink.CopyIn(pk.data)
	l.taken = max(l.taken, pk.sent[pk.lane])
	f.pool.put(pk)
	p.ni.up.Delivered(&d.Delivery, nil)
	f.putDelivery(d)
	p.tookSome(l)
}

// Recv implements lnd.NI.
func (n *ni) Recv(d *lnd.Delivery) {
	v, h := d.Driver.(*delivery), n.host
	h.mu.Lock()
	v.recv = true
	late := n.closed
	if !v.parsing && !late {
		n.resumed = append(n.resumed, v)
		h.wake()
	}
	h.mu.Unlock()
	if late {
		n.up.Delivered(d, syscall.ESHUTDOWN)
	}
}

// resume continues a message that was held, and then delivers the messages behind it.
func (d *delivery) resume() {
	if d.broken {
		d.peer.ni.up.Delivered(&d.Delivery, syscall.ECONNRESET)
		return
	}
	p, l := d.peer, d.lane
	l.held = nil
	d.complete()
	for l.held == nil && len(l.waiting) > 0 {
		pk := l.waiting[0]
		l.waiting = l.waiting[1:]
		p.deliver(l, pk)
	}
	p.refill()
}

// abandon ends a held message whose connection is gone.
func (d *delivery) abandon() {
	if !d.peer.ni.up.Abandon(&d.Delivery) {
		d.broken = true // lnet has called Recv, or will: then the message ends in resume
	}
}
