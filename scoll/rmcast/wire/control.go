package wire

import "encoding/binary"

// Sizes in bytes.
const (
	controlHeaderSize = 32
	entrySize         = 48
	MaxEntries        = 64 // entries in a control message
	MaxControl        = controlHeaderSize + MaxEntries*entrySize
)

// controlSigned is a flag in the header of control messages.
const controlSigned = 1

// EntryKind is a kind of [Entry].
type EntryKind uint8

// The kinds of entries. The sender is the member that sends the entry; "these datagrams" are the Count
// datagrams from First on.
const (
	Ack       EntryKind = 1 + iota // the sender and all members below it have these datagrams (RM-5)
	Pending                        // the sender has these datagrams, but not yet the acknowledgement of Member, which is below it (RM-A20)
	Need                           // the sender lacks these datagrams, and requests them
	Poll                           // asks the child for Ack, Pending or Need
	Query                          // asks the origin which datagrams are stable (RM-A6)
	Stable                         // all members have all datagrams below First; Count more were sent
	Expelled                       // the receiver counts as failed in a list that the sender has: it is not a member any more
	LastEntry = Expelled
)

// EntryFlags are flags of an [Entry]. Members with an older version of ulnet neither send nor
// evaluate them. So a flag only adds to what the entry says, and never changes it.
type EntryFlags uint8

// The flags of entries.
const (
	FlagAnswer   EntryFlags = 1 << iota // Ack: answers a poll, so it gives no RTT sample
	FlagNeedless                        // Ack: these datagrams came by a repair and later by multicast, too, at the sender or below
	FlagAtOnce                          // Poll: report missing datagrams at once, without the grace period
)

// Entry is about Count datagrams from First on, of an origin in a version:
//
//	 0  1  kind
//	 1  1  flags     see [EntryFlags]
//	 2  2  repairs   payloads that the sender and members below it got by repairs (RM-A21)
//	 4  4  origin    its communication number
//	 8 16  version   epoch, counter
//	24  8  first
//	32  4  count
//	36  4  member    Pending: communication number of the member waited for
//	40  8  stable    all members have the datagrams below this one, as far as the sender knows
type Entry struct {
	Kind    EntryKind  // what the entry says or asks
	Flags   EntryFlags // details of Kind
	Repairs uint16     // number of payloads that the sender and members below it got by repairs
	Origin  uint32     // communication number of the origin
	Version Version    // version that the origin sends under
	First   uint64     // sequence number of the first datagram
	Count   uint32     // number of datagrams
	Member  uint32     // with Pending: communication number of the member waited for
	Stable  uint64     // all members have all datagrams below this number
}

// appendControl appends the header of a control message; entries follow:
//
//	 0  4  magic    "RMCC"
//	 4  2  version  of the protocol
//	 6  2  entries  number of entries
//	 8  4  group
//	12  4  flags    1: an authentication code ends the message, see [Unsigned]
//	16 16  known    newest version that the sender knows: epoch, counter
//
// The entries may depend on the known list: for instance, if that list made a member count as
// failed, the sender does not wait for that member. A receiver that does not know the list
// holds the message back, so that the origin knows of all failed members when it releases a
// message (RM-A8).
func appendControl(b []byte, group GroupID, known Version, entries int) []byte {
	b = appendBegin(b, controlMagic, entries)
	b = binary.LittleEndian.AppendUint32(b, uint32(group))
	b = append(b, 0, 0, 0, 0)
	return appendVersion(b, known)
}

// AppendTo appends the entry.
func (e *Entry) AppendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = append(b, byte(e.Kind), byte(e.Flags))
	b = le.AppendUint16(b, e.Repairs)
	b = le.AppendUint32(b, e.Origin)
	b = appendVersion(b, e.Version)
	b = le.AppendUint64(b, e.First)
	b = le.AppendUint32(b, e.Count)
	b = le.AppendUint32(b, e.Member)
	return le.AppendUint64(b, e.Stable)
}

// AppendControl appends a control message of at most MaxEntries entries.
func AppendControl(b []byte, group GroupID, known Version, entries []Entry) []byte {
	b = appendControl(b, group, known, len(entries))
	for i := range entries {
		b = entries[i].AppendTo(b)
	}
	return b
}

// ParseControl parses the header of a control message and returns its entries, for
// [ParseEntry].
func ParseControl(b []byte) (group GroupID, known Version, entries []byte, err error) {
	n, err := begin(b, controlMagic, controlHeaderSize)
	if err != nil {
		return 0, known, nil, err
	}
	if n == 0 || n > MaxEntries || len(b) != controlHeaderSize+n*entrySize {
		return 0, known, nil, ErrShort
	}
	return GroupID(binary.LittleEndian.Uint32(b[8:])), parseVersion(b[16:]), b[controlHeaderSize:], nil
}

// ParseEntry parses the first of several entries.
func ParseEntry(b []byte) (e Entry, rest []byte, err error) {
	le := binary.LittleEndian
	if len(b) < entrySize {
		return e, nil, ErrShort
	}
	e.Kind, e.Flags = EntryKind(b[0]), EntryFlags(b[1])
	e.Repairs = le.Uint16(b[2:])
	e.Origin = le.Uint32(b[4:])
	e.Version = parseVersion(b[8:])
	e.First = le.Uint64(b[24:])
	e.Count = le.Uint32(b[32:])
	e.Member = le.Uint32(b[36:])
	e.Stable = le.Uint64(b[40:])
	ranged := e.Kind == Ack || e.Kind == Pending || e.Kind == Need || e.Kind == Poll
	if e.Kind == 0 || e.Kind > LastEntry || !e.Version.IsValid() || e.First > MaxSeq || e.Stable > MaxSeq || ranged && e.Count == 0 {
		return e, b[entrySize:], ErrHeader
	}
	return e, b[entrySize:], nil
}
