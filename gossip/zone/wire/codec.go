package wire

import (
	"encoding/binary"

	"ulnet/portals/keyring"
)

// Names is the table of the nodes that a sender or receiver of messages knows, each by its Ref.
type Names interface {
	ID(Ref) ID                          // the invalid id if only the short form is known
	Short(Ref) uint64                   // the short form of a node's id, 0 for Ref 0
	Find(short uint64) Ref              // number of the node; 0: the node is not known
	Add(ID) (Ref, error)                // makes a node known and returns its number
	AddShort(short uint64) (Ref, error) // makes a node known by the short form of its id alone
}

// View is a view of a zone's members, with the history, at an instant.
type View interface {
	// Each calls f for all members or, if gone is true, for all nodes in the history instead.
	Each(gone bool, f func(Ref, Version))
	// Size returns the number of members, the size of their ids in the canonical form, and the
	// number of nodes in the history.
	Size() (members, bytes, gone int)
}

// Codec turns messages of a zone into bytes and back.
type Codec struct {
	Names    Names         // the nodes that this node knows
	Zone     uint64        // number of the zone, see [ZoneNumber]
	Ring     *keyring.Ring // keys that sign and verify; nil: messages are not signed
	Self     Ref           // number of this node in Names
	MaxBytes int           // limit of a message; lists that exceed it are sent in parts
	observes bool          // the codec of an observer such as lnetdump: it parses messages to any node of any zone, and verifies no authentication code
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
// The body, by kind:
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
// A signed message ends with 12 bytes of HMAC-SHA-256, over the receiver's short form and all
// bytes of the message before. The parts:
//
//	id         u16 length, canonical form: name, 0, endpoints in order
//	version    u64 inc, u32 minor
//	leave      u64 short form, version, i32 exit code
//	alive      id, version
//	suspicion  u64 reporter, u64 suspect, version; reporter 0 is a mark: all
//	           suspicions after it are of silence. Older nodes ignore the mark,
//	           and take the suspicions for those of failures
//	removed    u64 short form, version
//	entry      u64 version, u8 key's length, u8 1: deleted, u32 value's length,
//	           key, value
//
// The highest bit of the entries' count says that these are the last of the requested entries.
func (c *Codec) appendHeader(b []byte, m *Message) []byte {
	flags := m.Flags &^ Signed
	if c.Ring.On() {
		flags |= Signed
	}
	le := binary.LittleEndian
	b = append(b, magic...)
	b = append(b, ProtocolVersion, byte(m.Kind))
	b = le.AppendUint16(b, uint16(flags))
	b = le.AppendUint64(b, c.Zone)
	b = le.AppendUint64(b, c.Names.Short(m.From))
	return appendVersion(b, m.Version)
}

func appendVersion(b []byte, v Version) []byte {
	b = binary.LittleEndian.AppendUint64(b, v.Inc)
	return binary.LittleEndian.AppendUint32(b, v.Minor)
}

func (c *Codec) appendID(b []byte, r Ref) []byte {
	id := c.Names.ID(r)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(id.canonical)))
	return id.AppendCanonical(b)
}

// Append encodes a message without lists and appends it to b. to is the short form of the
// receiver's id. If there is a key, the message is signed.
func (c *Codec) Append(b []byte, m *Message, to uint64) []byte {
	begin := len(b)
	return c.sign(c.appendFixed(b, m), begin, to)
}

func (c *Codec) appendFixed(b []byte, m *Message) []byte {
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

// sign appends the authentication code to the message that begins at an offset of b, if there
// is a key.
func (c *Codec) sign(b []byte, begin int, to uint64) []byte {
	return c.Ring.Append(b, begin, boundTo(to))
}

// boundTo returns what an authentication code covers besides the message: the short form of the
// receiver. The sender's is part of the message.
func boundTo(short uint64) keyring.Binding { return keyring.Binding{}.Number(short) }

// signed verifies the authentication code at the end of a message to this node. It returns the
// message without the code, and whether the code is valid.
func (c *Codec) signed(b []byte) ([]byte, bool) {
	return c.Ring.Verify(b, boundTo(c.Names.Short(c.Self)))
}
