package engine

import (
	"slices"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Acknowledgements that are delayed, because others may follow, go with messages that are sent to
// the same parent anyway: with control messages, and with datagrams by PUT (RM-A24, RM-A26). They
// do not go with multicast datagrams, which may be lost (RM-8). A control message overtakes data
// that is queued for its receiver. A datagram does not, so acknowledgements in it may arrive later
// than in a control message of their own.

// joinAcks adds delayed acknowledgements to the control messages that this step sends to the
// same parents anyway, so that they need no PUT of their own.
func (m *Machine) joinAcks() {
	m.delayed = slices.DeleteFunc(m.delayed, func(s *stream) bool {
		if len(s.up) > 0 && m.tells(s.parentNID()) {
			m.stats.JoinedAcks++
			s.tellAcks()
		}
		return len(s.up) == 0
	})
}

// tells reports whether this step sends a control message to a node.
func (m *Machine) tells(to nid.NID) bool {
	return slices.ContainsFunc(m.batches, func(b batch) bool { return b.to == to })
}

func (s *stream) parentNID() nid.NID { return s.roster.peers[s.parent].id.NID }

// withAcks adds the delayed acknowledgements for a node to a datagram for it, as far as there is room in a datagram of
// the group. The messages that they confirm were delivered before, so they may leave before the deliveries that follow
// in this step. data is the payload, at the end of the output's buffer; the result is the payload with the
// acknowledgements behind it.
func (m *Machine) withAcks(to nid.NID, d *wire.Datagram, data []byte, fragment int) []byte {
	if len(m.delayed) == 0 {
		return data
	}
	list, room := m.taken[:0], fragment-len(data)
	m.delayed = slices.DeleteFunc(m.delayed, func(s *stream) bool {
		most := len(list) + len(s.up) + len(s.confirmed)
		if len(s.up) > 0 && s.parentNID() == to && most <= wire.MaxEntries && wire.ControlSize(most) <= room {
			m.stats.JoinedAcks++
			list = s.takeAcks(list)
		}
		return len(s.up) == 0
	})
	if m.taken = list; len(list) == 0 {
		return data
	}
	d.Flags |= wire.FlagControl
	begin := len(m.out.Buf) - len(data)
	m.out.Buf = wire.AppendControl(m.out.Buf, m.cfg.Group, m.group.latest().version, list)
	return m.out.Buf[begin:len(m.out.Buf):len(m.out.Buf)]
}
