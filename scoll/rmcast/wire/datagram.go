package wire

import "encoding/binary"

// HeaderSize is the length of a datagram's header in bytes.
const HeaderSize = 72

// MaxSeq bounds sequence numbers, so that sums of them do not wrap.
const MaxSeq = 1 << 62

// DatagramFlags say what a datagram is.
type DatagramFlags uint32

// The flags.
const (
	FlagRepair         DatagramFlags = 1 << iota // sent again, to one member (RM-19, RM-20)
	FlagTree                                     // who gets it first sends it to its children: there is no multicast
	FlagBatch                                    // others are in flight: acknowledgements may wait for each other (RM-A19)
	FlagSigned                                   // a code ends the datagram; see [Unsigned]
	knownDatagramFlags = FlagRepair | FlagTree | FlagBatch
)

// Datagram is the header of a piece of a message, or, with Count 0, of a
// heartbeat, which says how far its origin has sent and what all have:
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
// A message of Count fragments has as many sequence numbers in a row (RM-A15).
type Datagram struct {
	Group   GroupID
	Flags   DatagramFlags
	Version Version
	Origin  uint32
	Length  uint32
	Seq     uint64
	Index   uint16
	Count   uint16
	Size    uint32
	Stable  uint64
	First   uint64
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

// ParseDatagram parses a header and returns the fragment that follows it, which
// is of the length that the header says.
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
	if size != HeaderSize || uint64(d.Size) != uint64(len(b)-HeaderSize) {
		return d, nil, ErrShort
	}
	return d, b[HeaderSize:], d.check()
}

// check refuses headers that say what cannot be.
func (d *Datagram) check() error {
	beat := d.Count == 0
	switch {
	case d.Flags&^knownDatagramFlags != 0, !d.Version.IsValid(), d.Seq > MaxSeq,
		d.First > d.Stable, d.Stable > d.Seq && d.Flags&FlagRepair == 0,
		beat && (d.Size != 0 || d.Length != 0 || d.Index != 0),
		!beat && (d.Index >= d.Count || d.Size > d.Length || uint64(d.Index) > d.Seq || d.Seq-uint64(d.Index) < d.First):
		return ErrHeader
	}
	return nil
}
