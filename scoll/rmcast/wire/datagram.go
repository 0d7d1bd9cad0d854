package wire

import "encoding/binary"

// HeaderSize is the size of a datagram's header in bytes.
const HeaderSize = 72

// MaxSeq bounds sequence numbers, so that their sums do not overflow.
const MaxSeq = 1 << 62

// DatagramFlags are flags of a [Datagram].
type DatagramFlags uint32

// The flags.
const (
	FlagRepair         DatagramFlags = 1 << iota // resent, to one member (RM-19, RM-20)
	FlagTree                                     // receivers forward the datagram to their children, because there is no multicast
	FlagBatch                                    // other messages are in flight: acknowledgements may be delayed and merged (RM-A19)
	FlagSigned                                   // an authentication code ends the datagram; see [Unsigned]
	FlagPacked                                   // the payload is several whole messages, see [AppendMessage] (RM-A25)
	FlagControl                                  // a control message follows the payload; only in a datagram by PUT (RM-A26)
	knownDatagramFlags = FlagRepair | FlagTree | FlagBatch | FlagPacked | FlagControl
)

// Datagram is the header of a fragment of a message or, with Count 0, of a heartbeat, which
// says how far its origin has sent and what is stable:
//
//	 0  4  magic     "RMCD"
//	 4  2  version   of the protocol
//	 6  2  size      of the header
//	 8  4  group
//	12  4  flags
//	16 16  version   of the group: epoch, counter
//	32  4  origin    its communication number (RM-10)
//	36  4  length    of the message
//	40  8  seq       of this datagram; heartbeat: of the next one
//	48  2  index     of the fragment
//	50  2  count     of the message's fragments, at least 1; heartbeat: 0
//	52  4  size      of what follows
//	56  8  stable    all members have all datagrams below
//	64  8  first     the first seq of this version
//	72     fragment
//
// A message of Count fragments takes Count consecutive sequence numbers (RM-A15). With FlagPacked
// the datagram has Count messages of one fragment each, at least 2, from Seq on; Length and Size
// are the bytes that follow the header:
//
//	0  2  length    of the first message
//	2     message; the next one follows without padding
//
// With FlagControl a control message follows the payload, up to the end of the datagram.
type Datagram struct {
	Group   GroupID       // number of the group
	Flags   DatagramFlags // what kind of datagram it is
	Version Version       // version that the origin sends under
	Origin  uint32        // communication number of the origin
	Length  uint32        // length of the whole message in bytes
	Seq     uint64        // sequence number of the datagram; in a heartbeat: of the next one
	Index   uint16        // index of the fragment in its message
	Count   uint16        // number of fragments of the message; 0: a heartbeat
	Size    uint32        // length of the fragment in bytes
	Stable  uint64        // all members have all datagrams below this number
	First   uint64        // number of the first datagram sent under Version
}

// AppendTo appends the header.
func (d *Datagram) AppendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = appendBegin(b, dataMagic, HeaderSize)
	b = le.AppendUint32(b, uint32(d.Group))
	b = le.AppendUint32(b, uint32(d.Flags))
	b = appendVersion(b, d.Version)
	b = le.AppendUint32(b, d.Origin)
	b = le.AppendUint32(b, d.Length)
	b = le.AppendUint64(b, d.Seq)
	b = le.AppendUint16(b, d.Index)
	b = le.AppendUint16(b, d.Count)
	b = le.AppendUint32(b, d.Size)
	b = le.AppendUint64(b, d.Stable)
	return le.AppendUint64(b, d.First)
}

// ParseDatagram parses a header, and returns the fragment that follows it, which is part of b.
func ParseDatagram(b []byte) (d Datagram, fragment []byte, err error) {
	le := binary.LittleEndian
	size, err := begin(b, dataMagic, HeaderSize)
	if err != nil {
		return d, nil, err
	}
	d.Group = GroupID(le.Uint32(b[8:]))
	d.Flags = DatagramFlags(le.Uint32(b[12:]))
	d.Version = parseVersion(b[16:])
	d.Origin = le.Uint32(b[32:])
	d.Length = le.Uint32(b[36:])
	d.Seq = le.Uint64(b[40:])
	d.Index = le.Uint16(b[48:])
	d.Count = le.Uint16(b[50:])
	d.Size = le.Uint32(b[52:])
	d.Stable = le.Uint64(b[56:])
	d.First = le.Uint64(b[64:])
	rest := uint64(len(b) - HeaderSize)
	if size != HeaderSize || d.Flags&FlagControl == 0 && rest != uint64(d.Size) || rest < uint64(d.Size) {
		return d, nil, ErrShort
	}
	fragment = b[HeaderSize:][:d.Size]
	if err = d.check(); err == nil && d.Flags&FlagPacked != 0 {
		err = d.checkPacked(fragment)
	}
	return d, fragment, err
}

// ControlIn returns the control message in a datagram with FlagControl, which is part of b. Like
// any control message it has to be parsed.
func (d *Datagram) ControlIn(b []byte) []byte { return b[HeaderSize+int(d.Size):] }

// ControlSize is the size of a control message with the given number of entries.
func ControlSize(entries int) int { return controlHeaderSize + entries*entrySize }

// LengthSize is the size of the length that precedes each message in a packed datagram.
const LengthSize = 2

// AppendMessage appends a message of less than 64 KiB to the payload of a packed datagram.
func AppendMessage(b, message []byte) []byte {
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(message))), message...)
}

// ParseMessage parses the first message in the payload of a packed datagram. The result is part
// of b.
func ParseMessage(b []byte) (message, rest []byte, err error) {
	if len(b) < LengthSize {
		return nil, nil, ErrShort
	}
	n := int(binary.LittleEndian.Uint16(b))
	if b = b[LengthSize:]; len(b) < n {
		return nil, nil, ErrShort
	}
	return b[:n:n], b[n:], nil
}

// checkPacked returns an error unless the payload is exactly Count messages.
func (d *Datagram) checkPacked(payload []byte) (err error) {
	for range d.Count {
		if _, payload, err = ParseMessage(payload); err != nil {
			return ErrHeader
		}
	}
	if len(payload) > 0 {
		return ErrHeader
	}
	return nil
}

// check returns an error for a header that contradicts itself.
func (d *Datagram) check() error {
	beat, packed := d.Count == 0, d.Flags&FlagPacked != 0
	switch {
	case d.Flags&^knownDatagramFlags != 0, !d.Version.IsValid(), d.Seq > MaxSeq,
		d.First > d.Stable, d.Stable > d.Seq && d.Flags&FlagRepair == 0,
		packed && (d.Count < 2 || d.Index != 0 || d.Length != d.Size || d.Seq+uint64(d.Count) > MaxSeq),
		beat && (d.Size != 0 || d.Length != 0 || d.Index != 0),
		!beat && (d.Index >= d.Count || d.Size > d.Length || uint64(d.Index) > d.Seq || d.Seq-uint64(d.Index) < d.First):
		return ErrHeader
	}
	return nil
}
