package wire

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"ulnet/portals/keyring"
)

// Version of the protocol; all participants must run the same (gossip design,
// Initialization).
const Version = 1

// Digest is the SHA-1 digest of the ordered list of NIDs.
type Digest [sha1.Size]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Flags say what follows the fixed header.
type Flags uint16

// The flags. A reply has at most one of FlagBitmap and FlagPairs.
const (
	FlagParams Flags = 1 << iota // Interval and Digest follow
	FlagStaged                   // the digest of the staged list follows
	FlagBitmap                   // in a reply: a bitmap and one age per set bit
	FlagPairs                    // in a reply: pairs of an index and an age
	FlagSigned                   // the message ends with an authentication code made with the cluster's key
	knownFlags = FlagParams | FlagStaged | FlagBitmap | FlagPairs | FlagSigned
)

var flagNames = [...]string{"params", "staged", "bitmap", "pairs", "signed"}

// String returns the names of the flags that are set.
func (f Flags) String() string {
	s := ""
	for i, name := range flagNames {
		if f>>i&1 != 0 {
			s += "," + name
		}
	}
	if s == "" {
		return "none"
	}
	return s[1:]
}

// Sizes in bytes.
const (
	HeaderSize = 16
	paramsSize = 4 + sha1.Size
	stagedSize = sha1.Size
	// PairSize is the size of an entry in the form of FlagPairs.
	PairSize = 5
	// MaxParticipants is how many ages fit one LNet message with the largest
	// header.
	MaxParticipants = 1<<20 - HeaderSize - paramsSize - stagedSize - keyring.CodeSize
)

// Why a message is not understood.
var (
	ErrShort         = errors.New("gossip: message shorter than its header says")
	ErrVersion       = errors.New("gossip: another protocol version")
	errFlags         = errors.New("gossip: unknown or contradictory flags")
	ErrBody          = errors.New("gossip: body does not fit the number of participants")
	ErrNoParticipant = fmt.Errorf("%w: an age of nobody", ErrBody)
)

// Header begins every message, little-endian:
//
//	 0  2  version
//	 2  2  flags
//	 4  4  n         participants
//	 8  8  clock     the sender's Lamport clock
//	16  4  interval  in ms, with FlagParams
//	20 20  digest    of the list of NIDs, with FlagParams
//	..  20 staged    digest of the list to come, with FlagStaged
//
// In a ping n ages follow. In a reply nothing follows, or one of two forms by its flags: a
// bitmap of n bits and an age for each set bit, or pairs of a u32 index and an age. A signed
// message ends with 12 bytes of package keyring, for label "gossip", bound to the NIDs of
// sender and receiver and the match bits.
type Header struct {
	Flags    Flags         // which parts follow, and whether the message is signed
	N        uint32        // number of participants in the sender's list
	Clock    uint64        // the sender's Lamport clock
	Interval time.Duration // the sender's gossip interval, in whole milliseconds
	Digest   Digest        // digest of the sender's list; only with FlagParams
	Staged   Digest        // digest of the list that the sender has staged; with FlagStaged
}

// AppendTo appends the header.
func (h Header) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, Version)
	b = binary.LittleEndian.AppendUint16(b, uint16(h.Flags))
	b = binary.LittleEndian.AppendUint32(b, h.N)
	b = binary.LittleEndian.AppendUint64(b, h.Clock)
	if h.Flags&FlagParams != 0 {
		b = binary.LittleEndian.AppendUint32(b, uint32(h.Interval/time.Millisecond))
		b = append(b, h.Digest[:]...)
	}
	if h.Flags&FlagStaged != 0 {
		b = append(b, h.Staged[:]...)
	}
	return b
}

// ParseHeader parses the header of a message; rest is its body, part of b.
func ParseHeader(b []byte) (h Header, rest []byte, err error) {
	if len(b) < HeaderSize {
		return h, nil, ErrShort
	}
	if binary.LittleEndian.Uint16(b) != Version {
		return h, nil, ErrVersion
	}
	h.Flags = Flags(binary.LittleEndian.Uint16(b[2:]))
	h.N = binary.LittleEndian.Uint32(b[4:])
	h.Clock = binary.LittleEndian.Uint64(b[8:])
	if h.Flags&^knownFlags != 0 || h.Flags&FlagBitmap != 0 && h.Flags&FlagPairs != 0 {
		return h, nil, errFlags
	}
	rest = b[HeaderSize:]
	if h.Flags&FlagParams != 0 {
		if len(rest) < paramsSize {
			return h, nil, ErrShort
		}
		h.Interval = time.Duration(binary.LittleEndian.Uint32(rest)) * time.Millisecond
		h.Digest = Digest(rest[4:])
		rest = rest[paramsSize:]
	}
	if h.Flags&FlagStaged != 0 {
		if len(rest) < stagedSize {
			return h, nil, ErrShort
		}
		h.Staged, rest = Digest(rest), rest[stagedSize:]
	}
	return h, rest, nil
}

// Signed reports whether the header of a message says that the message ends with an authentication
// code.
func Signed(b []byte) bool {
	return len(b) >= HeaderSize && Flags(binary.LittleEndian.Uint16(b[2:]))&FlagSigned != 0
}
