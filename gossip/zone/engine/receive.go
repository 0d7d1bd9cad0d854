package engine

import (
	"encoding/binary"
	"errors"

	"ulnet/gossip/zone/wire"
)

// arrived processes a message that came as bytes.
func (m *Machine) arrived(in *Input) {
	m.peer, m.primary = in.Peer, in.Primary
	if wire.IsDispatch(in.Data) {
		m.dispatchArrived(in.Data)
		return
	}
	err := m.codec.Parse(in.Data, &m.in, &m.lists)
	if errors.Is(err, errTableFull) && m.collect() {
		err = m.codec.Parse(in.Data, &m.in, &m.lists)
	}
	if err != nil {
		m.stats.refuse(err)
		if errors.Is(err, wire.ErrSender) && m.in.From == m.self {
			m.claimed(m.in.Version)
		}
		return
	}
	m.inShort = binary.LittleEndian.Uint64(in.Data[16:])
	m.receive()
}

// receive processes the message m.in.
func (m *Machine) receive() {
	m.stats.Received[m.in.Kind]++
	p := m.in.From
	if p == 0 && m.in.Kind != wire.Heartbeat {
		m.stats.UnknownSender++
		return
	}
	l := m.links.get(p)
	if l != nil && !m.genuine(l) {
		m.stats.OtherNID++
		return
	}
	if p != 0 && m.view.has(p) || m.in.Kind == wire.LinkRequest || m.in.Kind == wire.DiscoveryRequest {
		m.presumeAlive()
	}
	if l = m.links.get(p); l != nil {
		m.heardFrom(l, m.in.Version)
	}
	switch m.in.Kind {
	case wire.Heartbeat:
		m.beaten(l)
	case wire.LinkRequest:
		m.requested()
	case wire.LinkAccept:
		m.accepted()
	case wire.LinkRefuse:
		m.refused()
	case wire.LinkDrop:
		m.dropped()
	case wire.Base:
		m.based()
	case wire.Update:
		m.learn(&m.in, nil)
	case wire.Notice:
		m.learn(&m.in, nil)
		m.answerAccuser()
	case wire.DiscoveryRequest:
		m.asked()
	case wire.DiscoveryReply:
		m.told()
	case wire.AttributeDigest:
		m.attributes.offered(m)
	case wire.AttributeRequest:
		m.attributes.requested(m)
	case wire.AttributeData:
		m.attributes.received(m)
	}
}

// presumeAlive takes the sender's version in the message as evidence that the sender is alive,
// unless discovery has to handle the message first.
func (m *Machine) presumeAlive() {
	if m.in.Kind != wire.DiscoveryRequest && m.in.Kind != wire.DiscoveryReply {
		m.denied()
		m.processAlive(m.in.From, m.in.Version)
	}
}

// based processes a message with a whole view.
func (m *Machine) based() {
	m.learn(&m.in, nil)
	if m.in.Flags&wire.Ask != 0 && m.in.Flags&wire.More == 0 {
		if l := m.links.get(m.in.From); l != nil && l.state == up && m.now-l.replied >= m.cfg.Heartbeat {
			l.replied = m.now
			m.sendBase(l, wire.Repair)
		}
	}
}

// collect removes ids that are not used any more from the table, and reports whether the table
// then has room. It does not change a table that other machines share, because they rely on the
// ids.
func (m *Machine) collect() bool {
	t := m.cfg.Table
	if !m.cfg.Wire {
		return false
	}
	keep := make(bitmap, len(t.ids)/64+1)
	keep.set(m.self)
	for _, p := range m.bootstrap {
		keep.set(p)
	}
	for r := range t.ids {
		if m.view.at(wire.Ref(r)).state != unknown {
			keep.set(wire.Ref(r))
		}
	}
	for i := range m.links.list {
		keep.set(m.links.list[i].node)
	}
	m.delta.marks(&keep)
	m.attributes.marks(&keep)
	m.discovery.marks(&keep)
	before := t.Len()
	t.forget(keep)
	m.stats.Collected++
	return t.Len() < before
}
