package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
)

// Entity is the 128-bit tag of an object on a node.
type Entity [16]byte

// Target is a node of a group, with those of its entities that belong to the group. The first
// target of a group may have no entities: a root that only sends.
type Target struct {
	NID      nid.NID  // NID of the node; valid, not LNet's loopback
	Entities []Entity // entities on the node; none: the node only sends
}

// Digest is the first half of a SHA-256 digest.
type Digest [16]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// What is wrong with a list of members.
var (
	ErrNoMembers  = errors.New("scoll: a group needs at least one member")
	ErrMember     = errors.New("scoll: no NID of a node")
	ErrTwice      = errors.New("scoll: a node is listed twice")
	ErrNoEntities = errors.New("scoll: only the first member may be without entities")
)

// Membership is the ordered list of the nodes of a group. It is immutable, and groups may
// share one. A position in it is a rank.
type Membership struct {
	targets  []Target
	ranks    map[nid.NID]int32
	entities int
	digest   Digest
}

// NewMembership makes a membership of targets in their order, which all
// members must agree on. It keeps the slices. The errors are ErrNoMembers,
// ErrMember, ErrTwice and ErrNoEntities.
func NewMembership(targets []Target) (*Membership, error) {
	if len(targets) == 0 {
		return nil, ErrNoMembers
	}
	m := &Membership{targets: targets, ranks: make(map[nid.NID]int32, len(targets))}
	for i, t := range targets {
		if !t.NID.IsValid() || t.NID.IsAny() || t.NID.IsLo() {
			return nil, ErrMember
		}
		if i > 0 && len(t.Entities) == 0 {
			return nil, ErrNoEntities
		}
		m.ranks[t.NID] = int32(i)
		m.entities += len(t.Entities)
	}
	if len(m.ranks) != len(targets) {
		return nil, ErrTwice
	}
	m.digest = m.sum()
	return m, nil
}

// sum returns the digest over the ordered pairs of tag and NID (SC-A13). A target without
// entities counts as a pair without a tag.
func (m *Membership) sum() Digest {
	h := sha256.New()
	var b []byte
	for i := range m.targets {
		b = m.targets[i].append(b[:0])
		h.Write(b)
	}
	return Digest(h.Sum(b[:0]))
}

// Len returns the number of nodes.
func (m *Membership) Len() int { return len(m.targets) }

// Entities returns the number of entities on all nodes.
func (m *Membership) Entities() int { return m.entities }

// EntitiesBelow returns the number of entities on a member and on those below it in a tree.
func (m *Membership) EntitiesBelow(shape tree.Tree, rank int) (n int) {
	if m.entities == len(m.targets) { // each node has one entity
		return shape.Size(rank)
	}
	for _, below := range shape.AppendSubtree(nil, rank) {
		n += len(m.targets[below].Entities)
	}
	return n
}

// Digest returns the digest by which members compare their lists.
func (m *Membership) Digest() Digest { return m.digest }

// Target returns the member of a rank.
func (m *Membership) Target(rank int) Target { return m.targets[rank] }

// NID returns the NID of the member of a rank.
func (m *Membership) NID(rank int) nid.NID { return m.targets[rank].NID }

// Rank returns the rank of a NID, or -1.
func (m *Membership) Rank(id nid.NID) int {
	if r, ok := m.ranks[id]; ok {
		return int(r)
	}
	return -1
}

// minTarget is the size of the shortest encoding of a target.
const minTarget = nid.ExtendedSize + 4

// append appends the encoding of a target: NID (20 bytes), number of entities (4), entities (16
// each).
func (t *Target) append(b []byte) []byte {
	b = t.NID.AppendExtended(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(t.Entities)))
	for i := range t.Entities {
		b = append(b, t.Entities[i][:]...)
	}
	return b
}

// Size returns the size of the encoded list, in bytes.
func (m *Membership) Size() int { return len(m.targets)*minTarget + 16*m.entities }

// AppendTo appends the encoded list: the targets in order.
func (m *Membership) AppendTo(b []byte) []byte {
	for i := range m.targets {
		b = m.targets[i].append(b)
	}
	return b
}

// ParseMembership parses a list of targets that fills b. Errors are ErrShort
// and those of NewMembership.
func ParseMembership(b []byte) (*Membership, error) {
	targets := make([]Target, 0, len(b)/minTarget)
	for len(b) > 0 {
		if len(b) < minTarget {
			return nil, ErrShort
		}
		id, rest, err := nid.ParseExtended(b)
		if err != nil {
			return nil, ErrMember
		}
		count := int(binary.LittleEndian.Uint32(rest))
		if b = rest[4:]; count > len(b)/16 {
			return nil, ErrShort
		}
		t := Target{NID: id, Entities: make([]Entity, count)}
		for i := range t.Entities {
			t.Entities[i] = Entity(b[16*i:])
		}
		b = b[16*count:]
		targets = append(targets, t)
	}
	return NewMembership(targets)
}
