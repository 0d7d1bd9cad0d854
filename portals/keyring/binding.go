package keyring

import (
	"encoding/binary"

	"ulnet/lnet/nid"
)

// Binding is the context that an authentication code covers in addition to the message: a code for one
// binding does not verify with another binding. Sender and receiver of a message build their bindings from
// the same parts in the same order, so a protocol has one form for each kind of message. The zero value adds
// nothing.
type Binding struct {
	b [64]byte
	n uint8
}

// Between binds to the sender and the receiver of a message, so that it cannot be replayed to
// a third node.
func Between(from, to nid.NID) Binding { return Binding{}.NID(from).NID(to) }

// NID adds a NID, 20 bytes. A binding has room for 64; adding more panics.
func (k Binding) NID(n nid.NID) Binding {
	part := k.b[k.n : k.n+nid.ExtendedSize]
	n.AppendExtended(part[:0])
	k.n += nid.ExtendedSize
	return k
}

// Number appends n as 8 bytes, little-endian.
func (k Binding) Number(n uint64) Binding {
	binary.LittleEndian.PutUint64(k.b[k.n:k.n+8], n)
	k.n += 8
	return k
}
