package scoll

import (
	"encoding/binary"

	"ulnet/scoll/wire"
)

// Versions helps services whose members run different versions of their protocol (collectives
// design, Open Issues). A member that does not know the request's version still lets the module
// forward the request, and replies with the version that it knows. The root gets the lowest of
// these versions, and can send the request again in that version.
//
//	IncomingRequest  v.Check(version of the request)
//	IncomingReply    v.Merge(reply.Payload)
//	PostReply        r.Reply(v.AppendBinary(nil)), or at the root v.Lowest
type Versions struct {
	Own uint32 // highest version that this member knows; it knows all lower ones
	// Lowest is the lowest version in which the root can send the request again: the lowest Own of the
	// members, among this one and those below it, that could not run the request; 0: all could.
	Lowest uint32
	Count  uint32 // number of members that could not run the request
}

// Check reports whether this member can run a request of a version.
func (v *Versions) Check(version uint32) bool {
	if version <= v.Own {
		return true
	}
	v.add(v.Own, 1)
	return false
}

func (v *Versions) add(lowest, count uint32) {
	if v.Count == 0 || lowest < v.Lowest {
		v.Lowest = lowest
	}
	v.Count += count
}

// Merge adds the reply of a child. ErrShort: it has the wrong length.
func (v *Versions) Merge(b []byte) error {
	if len(b) != VersionsSize {
		return wire.ErrShort
	}
	if count := binary.LittleEndian.Uint32(b[4:]); count > 0 {
		v.add(binary.LittleEndian.Uint32(b), count)
	}
	return nil
}

// AppendTo appends the encoded versions.
func (v *Versions) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, v.Lowest)
	return binary.LittleEndian.AppendUint32(b, v.Count)
}
