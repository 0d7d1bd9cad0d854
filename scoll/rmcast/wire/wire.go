package wire

import (
	"encoding/binary"
	"errors"
)

// ProtocolVersion is the version of the protocol. Nodes drop messages of other versions. Orders
// of version 1 have the layout of this one, so that nodes can tell nodes of the other version
// that their versions differ: see [VersionOf].
const ProtocolVersion = 2

// The portals of reliable multicast: multicast datagrams and repairs, control messages between
// members, and orders between members and managers.
const (
	DataPortal    = 60
	ControlPortal = 61
	ManagerPortal = 62
)

// Parse errors.
var (
	ErrShort   = errors.New("rmcast: message shorter than its header says")
	ErrMagic   = errors.New("rmcast: no message of reliable multicast")
	ErrVersion = errors.New("rmcast: another protocol version")
	ErrHeader  = errors.New("rmcast: contradictory header")
)

// The magic numbers of messages, little-endian.
const (
	dataMagic    = 0x44434D52 // "RMCD"
	controlMagic = 0x43434D52 // "RMCC"
	managerMagic = 0x4D434D52 // "RMCM"
)

// begin checks magic and version, with which all messages begin. It returns the 16-bit field
// that follows, whose meaning depends on the message.
func begin(b []byte, magic uint32, size int) (length int, err error) {
	le := binary.LittleEndian
	switch {
	case len(b) < 8:
		return 0, ErrShort
	case le.Uint32(b) != magic:
		return 0, ErrMagic
	case le.Uint16(b[4:]) != ProtocolVersion:
		return 0, ErrVersion
	case len(b) < size:
		return 0, ErrShort
	}
	return int(le.Uint16(b[6:])), nil
}

func appendBegin(b []byte, magic uint32, length int) []byte {
	b = binary.LittleEndian.AppendUint32(b, magic)
	b = binary.LittleEndian.AppendUint16(b, ProtocolVersion)
	return binary.LittleEndian.AppendUint16(b, uint16(length))
}

func appendVersion(b []byte, v Version) []byte {
	b = binary.LittleEndian.AppendUint64(b, v.Epoch)
	return binary.LittleEndian.AppendUint64(b, v.Counter)
}

func parseVersion(b []byte) Version {
	return Version{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

// VersionOf returns the protocol version of a message; 0 if the message is too short.
func VersionOf(b []byte) int {
	if len(b) < 8 {
		return 0
	}
	return int(binary.LittleEndian.Uint16(b[4:]))
}

// SetVersion replaces the protocol version of a whole message. It is for messages that tell a
// node of an older version that it is refused, and for tools that read old captures: all
// messages of version 1 have the layout of version 2.
func SetVersion(b []byte, version int) { binary.LittleEndian.PutUint16(b[4:], uint16(version)) }

// GroupOf returns the group of a message. The group is at the same offset in all messages; the
// result is 0 if the message is too short.
func GroupOf(b []byte) GroupID {
	if len(b) < 12 {
		return 0
	}
	return GroupID(binary.LittleEndian.Uint32(b[8:]))
}
