package engine

import (
	"crypto/sha1"
	"encoding/binary"
	"errors"

	"ulnet/portals/keyring"
)

// Portal is the portal of zones, behind those of client health.
const Portal = 59

// Bits are the match bits of all messages.
const Bits = 0x7A6F6E65_00000001

// ProtocolVersion is that of the messages.
const ProtocolVersion = 1

// Sizes in bytes.
const (
	HeaderSize = 36
	flagsAt    = 6
	codeSize   = keyring.CodeSize
	versionLen = 12
	countsSize = 16

	departureSize  = 8 + versionLen + 4
	suspicionSize  = 16 + versionLen
	removedSize    = 8 + versionLen
	tableVerSize   = 24
	tableDataSize  = 36
	memberOverhead = 2 + versionLen

	attributeOverhead = 14
	// maxKey and maxTable bound attributes: a whole table fits one message.
	maxKey   = 255
	maxTable = 512 << 10
	// MaxTableKeys bounds the keys of a table that is taken from others: more than fit the
	// default size, if key and value have two bytes together.
	MaxTableKeys = 16 << 10

	// minMessage has room for the largest part that is not cut.
	minMessage = HeaderSize + countsSize + 2*(memberOverhead+maxID) + codeSize
)

const magic = "ZONE"

// Why a message is not understood.
var (
	ErrShort   = errors.New("zone: message shorter than it says")
	ErrMagic   = errors.New("zone: no message of a zone")
	ErrVersion = errors.New("zone: another protocol version")
	ErrKind    = errors.New("zone: unknown kind, flags, roles or reason")
	errZone    = errors.New("zone: of another zone")
	errCode    = errors.New("zone: not signed with the cluster's key")
	errBody    = errors.New("zone: body does not fit its kind")
	ErrInc     = errors.New("zone: a version that no node can have")
	errSender  = errors.New("zone: the sender is this node, or unknown where it must be known")
)

// zoneNumber is how messages name a zone: the beginning of the SHA-1 digest of its
// name.
func zoneNumber(name string) uint64 {
	sum := sha1.Sum([]byte(name))
	return binary.BigEndian.Uint64(sum[:])
}

// codec turns messages into bytes and back.
type codec struct {
	table *Table
	zone  uint64
	ring  *keyring.Ring // nil without a key
	self  Ref
	most  int // bytes of a message
	// observes: it is in no zone, and takes what anybody says to anybody.
	observes bool
}

// appendHeader appends the beginning of every message, little-endian:
//
//	 0  4  magic   "ZONE"
//	 4  1  version
//	 5  1  kind
//	 6  2  flags
//	 8  8  zone    number of the zone
//	16  8  sender  short form of its id: the first bytes of its SHA-1 digest
//	24  8  inc     the sender's version
//	32  4  minor
//	36     body
//
// Then follows, by kind:
//
//	heartbeat                u64 hash, u64 tables
//	link-request             u8 roles, id
//	link-accept              u8 roles
//	link-refuse, link-drop   u8 reason; removed: version; redirect: id, version
//	discovery-request        id
//	base, update, notice,
//	  discovery-reply        four u32 counts; leaves, alive, suspicions, removed
//	attribute-digest         u32 count; {u64 owner, u64 inc, u64 u}
//	attribute-request        the same
//	attribute-data           u32 count; {u64 owner, u64 inc, u64 from, u64 to,
//	                         u32 entries, entries}
//
// and, if it is signed, 12 bytes of HMAC-SHA-256 over the receiver's short form
// and all before. The parts:
//
//	id         u16 length, canonical form: name, 0, endpoints in order
//	version    u64 inc, u32 minor
//	leave      u64 short form, version, i32 exit code
//	alive      id, version
//	suspicion  u64 reporter, u64 suspect, version; with reporter 0 it says that
//	           those behind it are of silence, which nodes that do not know
//	           that ignore: they take these for those of a failure
//	removed    u64 short form, version
//	entry      u64 version, u8 key's length, u8 1: deleted, u32 value's length,
//	           key, value
//
// The highest bit of the entries' count says that what was asked for ends here.
func (c *codec) appendHeader(b []byte, m *Message) []byte {
	flags := m.Flags &^ Signed
	if c.ring.On() {
		flags |= Signed
	}
	le := binary.LittleEndian
	b = append(b, magic...)
	b = append(b, ProtocolVersion, byte(m.Kind))
	b = le.AppendUint16(b, uint16(flags))
	b = le.AppendUint64(b, c.zone)
	b = le.AppendUint64(b, c.short(m.From))
	return appendVersion(b, m.Version)
}

func (c *codec) short(r Ref) uint64 { return c.table.ids[r].short }

func appendVersion(b []byte, v Version) []byte {
	b = binary.LittleEndian.AppendUint64(b, v.Inc)
	return binary.LittleEndian.AppendUint32(b, v.Minor)
}

func (c *codec) appendID(b []byte, r Ref) []byte {
	id := c.table.ids[r].id
	b = binary.LittleEndian.AppendUint16(b, uint16(len(id.canonical)))
	return id.AppendCanonical(b)
}

// appendFixed appends a message without lists.
func (c *codec) appendFixed(b []byte, m *Message) []byte {
	b = c.appendHeader(b, m)
	le := binary.LittleEndian
	switch m.Kind {
	case Heartbeat:
		b = le.AppendUint64(b, m.Hash)
		b = le.AppendUint64(b, m.Tables)
	case LinkRequest:
		b = append(b, byte(m.Roles))
		b = c.appendID(b, m.From)
	case LinkAccept:
		b = append(b, byte(m.Roles))
	case LinkRefuse, LinkDrop:
		b = append(b, byte(m.Reason))
		switch m.Reason {
		case Removed:
			b = appendVersion(b, m.AboutVersion)
		case Redirect:
			b = c.appendID(b, m.About)
			b = appendVersion(b, m.AboutVersion)
		}
	case DiscoveryRequest:
		b = c.appendID(b, m.From)
	}
	return b
}

// sign ends the message that begins at an offset of b, if there is a key.
func (c *codec) sign(b []byte, begin int, to uint64) []byte {
	return c.ring.Append(b, begin, boundTo(to))
}

// boundTo is what a code is bound to: the short form of the receiver. The sender's
// is in the message.
func boundTo(short uint64) keyring.Binding { return keyring.Binding{}.Number(short) }

// signed checks the code of a message to this node and cuts it off.
func (c *codec) signed(b []byte) ([]byte, bool) { return c.ring.Verify(b, boundTo(c.short(c.self))) }

// lists reports whether messages of a kind consist of lists of members.
func (k Kind) lists() bool {
	return k == Base || k == Update || k == DiscoveryReply || k == Notice
}

// tables reports whether messages of a kind consist of versions of tables.
func (k Kind) tables() bool { return k == AttributeDigest || k == AttributeRequest }

// Size returns how many bytes a message has when it is sent, without a key: more
// than fit one message are sent as several.
func (t *Table) Size(m *Message) int {
	n := HeaderSize
	switch {
	case m.Kind == Heartbeat:
		n += 16
	case m.Kind == LinkRequest:
		n += 3 + len(t.ids[m.From].id.canonical)
	case m.Kind == DiscoveryRequest:
		n += 2 + len(t.ids[m.From].id.canonical)
	case m.Kind.lists():
		n += countsSize + t.listsSize(m)
	case m.Kind.tables():
		n += 4 + len(m.Lists.Tables)*tableVerSize
	case m.Kind == AttributeData:
		n += 4
		for i := range m.Lists.Data {
			n += dataSize(&m.Lists.Data[i])
		}
	case m.Reason == Removed:
		n += 1 + versionLen
	case m.Reason == Redirect:
		n += 1 + memberOverhead + len(t.ids[m.About].id.canonical)
	default:
		n++
	}
	return n
}

func (t *Table) listsSize(m *Message) int {
	l := m.Lists
	if l == nil {
		return 0
	}
	silences := len(l.Silences)
	if silences > 0 {
		silences++ // what says that they are
	}
	n := len(l.Leaves)*departureSize + silences*suspicionSize + len(l.Suspicions)*suspicionSize + len(l.Removed)*removedSize
	for i := range l.Alive {
		n += memberOverhead + len(t.ids[l.Alive[i].Node].id.canonical)
	}
	if s := l.View; s != nil {
		n += s.bytes + s.members*memberOverhead
		if m.Flags&Repair != 0 {
			n += s.gone * removedSize
		}
	}
	return n
}

func dataSize(d *TableData) int {
	n := tableDataSize
	for i := range d.Entries {
		n += d.Entries[i].Size()
	}
	return n
}
