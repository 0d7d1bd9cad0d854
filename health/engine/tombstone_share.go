package engine

import (
	"hash/crc32"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// One node can connect and leave with ids of its own invention, over and over, and each
// time leaves a tombstone. So that these do not drive out those of others, the oldest of
// a NID that has more than its share go first when there is no room.

// shares is how many NIDs are told apart; some of them share a number.
const shares = 1 << 12

// partOfOne is which part of all tombstones is the share of a NID.
const partOfOne = 16

// shareOf returns the number under which the tombstones of a NID count: 0 for none.
func shareOf(id nid.NID) uint16 {
	if !id.IsValid() {
		return 0
	}
	return uint16(1 + crc32.ChecksumIEEE(id.AppendExtended(make([]byte, 0, nid.ExtendedSize)))%(shares-1))
}

// nidOf returns the NID of a client that is connected, for a tombstone that another server
// tells of without one; it is not known of others.
func (s *Server) nidOf(id wire.ClientID) nid.NID {
	if i, ok := s.find(id); ok {
		return s.conn(i).peer.NID
	}
	return nid.NID{}
}

// put sets the tombstone of a client, and counts it.
func (t *tombstones) put(id wire.ClientID, g tombstone) {
	t.remove(id)
	t.counts[g.by]++
	t.incarnations[id] = g
}

func (t *tombstones) remove(id wire.ClientID) {
	if g, ok := t.incarnations[id]; ok {
		t.counts[g.by]--
		delete(t.incarnations, id)
	}
}

// relieve makes room, and returns how many lives it forgot: the oldest of a NID that has
// more than its share, a quarter of that at once since it looks at all; or else the oldest.
func (t *tombstones) relieve() (forgot uint64) {
	before, most := len(t.incarnations), 1
	for by := 2; by < shares; by++ {
		if t.counts[by] > t.counts[most] {
			most = by
		}
	}
	share := max(t.max/partOfOne, 1)
	if int(t.counts[most]) <= share {
		t.pop()
		return uint64(before - len(t.incarnations))
	}
	left := int32(max(share*3/4, 1))
	for _, p := range t.queue {
		if g, ok := t.incarnations[p.id]; ok && int(g.by) == most && g.until == p.until && t.counts[most] > left {
			t.remove(p.id)
		}
	}
	return uint64(before - len(t.incarnations))
}
