package portals

import "ulnet/lnet/nid"

// Outgoing is a message: Data, then Payload, then Trailer. After Put it belongs to the
// outbox.
type Outgoing[Note any] struct {
	Data     []byte // memory of the message, empty at first: append to it
	Payload  []byte // memory of the caller, sent after Data; it must not change before Done is called
	Trailer  []byte // further memory of the message, sent last
	Note     Note   // value that OutboxConfig.Done is given
	Priority bool   // whether the message overtakes queued messages

	peer     nid.NID
	size     int   // bytes that count as on their way; -1: the message is not on its way
	err      error // the first error of the message
	segments [3]Segment
}

const (
	defaultSpare = 1 << 20
	// messageCost is the memory in bytes that a message is assumed to need besides the bytes
	// in it.
	messageCost = 256
)

// New returns an empty message, to be filled and put.
func (o *Outbox[Note]) New() *Outgoing[Note] {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(o.free)
	if n == 0 {
		return &Outgoing[Note]{size: -1}
	}
	m := o.free[n-1]
	o.free[n-1], o.free = nil, o.free[:n-1]
	o.spare -= m.cost()
	return m
}

// traffic counts the messages, and their bytes, that are on their way to a peer.
type traffic struct{ messages, bytes int }

// admit counts a message as on its way, or returns an error if it exceeds a bound.
func (o *Outbox[Note]) admit(m *Outgoing[Note], peer nid.NID) error {
	size := len(m.Data) + len(m.Payload) + len(m.Trailer)
	o.mu.Lock()
	defer o.mu.Unlock()
	to := o.peers[peer]
	to.messages++
	to.bytes += size
	switch {
	case o.closed:
		return ErrOutboxClosed
	case exceeds(o.bytes+size, o.cfg.MaxBytes), exceeds(to.bytes, o.cfg.PeerBytes), exceeds(to.messages, o.cfg.PeerMessages), o.crowded(to.messages):
		return ErrOutboxFull
	}
	if o.peers != nil {
		o.peers[peer] = to
	}
	o.bytes += size
	o.count++
	m.peer, m.size = peer, size
	return nil
}

func exceeds(n, bound int) bool { return bound > 0 && n > bound }

// crowded reports whether MaxMessages leaves no room for another message to a NID, which would be the own-th on its
// way there. The caller holds o.mu.
func (o *Outbox[Note]) crowded(own int) bool {
	most := o.cfg.MaxMessages
	switch {
	case most <= 0:
		return false
	case own <= o.cfg.OwnMessages:
		return o.count >= most
	}
	return own > most/2-o.count
}

// lay returns the parts of a message in order.
func (m *Outgoing[Note]) lay() []Segment {
	segments := m.segments[:0]
	for _, part := range [...]Segment{m.Data, m.Payload, m.Trailer} {
		if len(part) > 0 {
			segments = append(segments, part)
		}
	}
	return segments
}

// give caches the memory of a message, or leaves it to the garbage collector if there is
// enough.
func (o *Outbox[Note]) give(m *Outgoing[Note]) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m.size >= 0 {
		o.left(m)
	}
	if o.closed || o.spare+m.cost() > o.cfg.Spare {
		return
	}
	*m = Outgoing[Note]{Data: m.Data[:0], Trailer: m.Trailer[:0], size: -1}
	o.spare += m.cost()
	o.free = append(o.free, m)
}

// left no longer counts a message as on its way. The caller holds o.mu.
func (o *Outbox[Note]) left(m *Outgoing[Note]) {
	o.bytes -= m.size
	o.count--
	if o.peers == nil {
		return
	}
	to := o.peers[m.peer]
	to.messages--
	to.bytes -= m.size
	if to.messages > 0 {
		o.peers[m.peer] = to
	} else {
		delete(o.peers, m.peer)
	}
}

// cost returns the bytes of memory that the message needs.
func (m *Outgoing[Note]) cost() int { return messageCost + cap(m.Data) + cap(m.Trailer) }
