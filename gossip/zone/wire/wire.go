package wire

import (
	"crypto/sha1"
	"encoding/binary"
	"errors"

	"ulnet/portals/keyring"
)

// Portal is the portal of zones.
const Portal = 59

// Bits are the match bits of all messages of zones.
const Bits = 0x7A6F6E65_00000001

// ProtocolVersion is the version of the protocol, which each message has.
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
	// MaxKey and MaxTable bound the size of an attribute's key and of a node's attributes: a whole
	// table fits one message.
	MaxKey   = 255
	MaxTable = 512 << 10
	// MaxTableKeys bounds the number of keys in a table of another node. A table of the default size
	// cannot have more keys if each key has at least two bytes together with its value.
	MaxTableKeys = 16 << 10

	// MaxZone bounds the name of a zone, in bytes. Supervisors publish a base zone in an
	// attribute whose key is "zone.census/" and that name, and MaxKey bounds the key.
	MaxZone = MaxKey - len("zone.census/")
	// MaxMessage is the size in bytes of the longest message.
	MaxMessage = 1 << 20
	// MinMessage is the smallest limit for the size of messages, in bytes: the largest part that is
	// never divided between two messages still fits.
	MinMessage = HeaderSize + countsSize + 2*(memberOverhead+maxID) + codeSize
)

// TableRoom returns the size up to which a node's attributes fit one message of maxBytes bytes with a code.
func TableRoom(maxBytes int) int {
	const entries = 4 // size of the number of entries, in bytes
	return min(maxBytes-HeaderSize-entries-tableDataSize-codeSize, MaxTable)
}

const magic = "ZONE"

// Why a message is not valid.
var (
	ErrShort   = errors.New("zone: message shorter than it says")
	ErrMagic   = errors.New("zone: no message of a zone")
	ErrVersion = errors.New("zone: another protocol version")
	ErrKind    = errors.New("zone: unknown kind, flags, roles or reason")
	ErrZone    = errors.New("zone: of another zone")
	ErrCode    = errors.New("zone: not signed with the cluster's key")
	errBody    = errors.New("zone: body does not fit its kind")
	ErrInc     = errors.New("zone: a version that no node can have")
	ErrSender  = errors.New("zone: the sender is this node, or unknown where it must be known")
)

// ZoneNumber returns the number by which messages name a zone: the beginning of the SHA-1
// digest of its name.
func ZoneNumber(name string) uint64 {
	sum := sha1.Sum([]byte(name))
	return binary.BigEndian.Uint64(sum[:])
}
