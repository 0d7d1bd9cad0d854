package engine

import (
	"encoding/binary"

	"ulnet/gossip/wire"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// label is signed with each message, so that an authentication code made for gossip is not valid in
// another protocol.
const label = "gossip"

// binding is what the authentication code of a message is bound to: the sender, the receiver, and
// whether it is a ping or a reply. The message itself contains none of these.
func binding(from, to nid.NID, reply bool) keyring.Binding {
	bits := uint64(wire.PingBits)
	if reply {
		bits = wire.ReplyBits
	}
	return keyring.Between(from, to).Number(bits)
}

// queue appends a message to out.Sends. Its data is out.Buf[from:]; if there are keys, queue appends
// the authentication code to it.
func (m *Machine) queue(to nid.NID, reply bool, from int, out *Output) {
	out.Buf = m.ring.Append(out.Buf, from, binding(m.list.NID(m.self), to, reply))
	out.Sends = append(out.Sends, Send{To: to, Reply: reply, Begin: from, End: len(out.Buf)})
}

// signedFlag returns FlagSigned if this node signs its messages, otherwise no flag.
func (m *Machine) signedFlag() wire.Flags {
	if m.ring.On() {
		return wire.FlagSigned
	}
	return 0
}

// authentic returns the data of a message without its authentication code, and whether the code is
// valid: made with one of this node's keys, or absent if this node has no keys.
func (m *Machine) authentic(in *Input) ([]byte, bool) {
	b := in.Data
	signed := wire.Signed(b)
	if !m.ring.On() {
		return b, !signed || binary.LittleEndian.Uint16(b) != wire.Version
	}
	b, ok := m.ring.Verify(b, binding(in.From, m.list.NID(m.self), in.Kind == Reply))
	return b, ok && signed
}

// unsigned drops a message whose authentication code is not valid here.
func (m *Machine) unsigned(msg *incoming, out *Output) {
	m.stats.NotSigned++
	if msg.index < 0 && m.roll.index(msg.from) < 0 {
		return
	}
	if _, told := m.params.unsigned[msg.from]; !told {
		if m.params.unsigned == nil {
			m.params.unsigned = make(map[nid.NID]bool)
		}
		m.tell(out, Event{Kind: NotSigned, NID: msg.from})
	}
	m.params.unsigned[msg.from] = true
}

// SetKeys replaces the keys that sign and verify messages.
func (m *Machine) SetKeys(keys keyring.Keys) {
	m.cfg.Keys, m.ring = keys, keys.Ring(label)
	m.params.unsigned = nil // so NotSigned is reported anew: the new keys may verify messages that the old ones did not
}

// Keys returns how many keys sign and verify messages. 0: messages are not signed.
func (m *Machine) Keys() int { return m.cfg.Keys.Len() }

// Verified returns how many messages each key has verified since it was set: an old key that
// verifies none any more can be removed.
func (m *Machine) Verified() [2]uint64 {
	if !m.ring.On() {
		return [2]uint64{}
	}
	return m.ring.Verified
}
