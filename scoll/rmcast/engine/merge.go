package engine

import (
	"ulnet/scoll/rmcast/wire"
)

// cast is an effect that multicasts one or several whole messages.
type cast struct {
	effect int           // index of the effect
	d      wire.Datagram // header of the datagram
	room   int           // bound of the datagram's payload, in bytes
}

// Merge packs messages into fewer datagrams (RM-A25). outs are outputs of one machine that are to
// be applied one after another, because their steps were made while earlier effects were
// applied. So no message waits longer than without Merge. Each datagram that is packed into an
// earlier one becomes an effect Merged. Merge returns the number of these, and of the messages
// that did not share a datagram before.
func Merge(outs []*Output) (merged, packed int) {
	var to *cast
	var first *Output
	for _, out := range outs {
		for i := range out.casts {
			c := &out.casts[i]
			alone := c.alone()
			if to != nil {
				alone += to.alone()
			}
			if to == nil || !first.pack(to, c, out) {
				to, first = c, out
				continue
			}
			merged++
			packed += alone
		}
	}
	return merged, packed
}

// alone is 1 if the datagram has one message, otherwise 0.
func (c *cast) alone() int {
	if c.d.Flags&wire.FlagPacked != 0 {
		return 0
	}
	return 1
}

// pack moves the messages of c, an effect of the output other, into the datagram of the effect to, and reports whether
// it did. They must have the same version, follow the messages of to without a gap, and fit.
func (o *Output) pack(to, c *cast, other *Output) bool {
	a, b := &o.Effects[to.effect], &other.Effects[c.effect]
	size := to.packedSize() + c.packedSize()
	if to.d.Version != c.d.Version || to.d.Seq+uint64(to.d.Count) != c.d.Seq || size > to.room {
		return false
	}
	begin := len(o.Buf)
	if to.d.Flags&wire.FlagPacked != 0 && len(a.Data) > 0 && begin >= len(a.Data) && &o.Buf[begin-1] == &a.Data[len(a.Data)-1] {
		begin -= len(a.Data) // the payload is at the end of the buffer, and grows there
	} else {
		o.Buf = to.appendTo(o.Buf, a.Data)
	}
	o.Buf = c.appendTo(o.Buf, b.Data)
	a.Data = o.Buf[begin:len(o.Buf):len(o.Buf)]
	to.d.Flags, to.d.Count = to.d.Flags|wire.FlagPacked, to.d.Count+c.d.Count
	to.d.Length, to.d.Size = uint32(size), uint32(size)
	to.d.AppendTo(o.Buf[:a.Head.Begin]) // write the changed header over the old one
	b.Kind = Merged
	return true
}

// packedSize is the size that the messages have in a packed datagram, in bytes.
func (c *cast) packedSize() int {
	if c.d.Flags&wire.FlagPacked != 0 {
		return int(c.d.Size)
	}
	return wire.LengthSize + int(c.d.Size)
}

// appendTo appends the payload in the form that it has in a packed datagram.
func (c *cast) appendTo(b, payload []byte) []byte {
	if c.d.Flags&wire.FlagPacked != 0 {
		return append(b, payload...)
	}
	return wire.AppendMessage(b, payload)
}
