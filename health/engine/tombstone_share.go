package engine

import (
	"hash/crc32"
	"slices"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// A node can connect and leave with invented ids over and over, and leave a tombstone each time.
// These tombstones must not displace those of other nodes. So when there is no room, the oldest
// tombstones of a NID that exceeds its share are removed first.

// shares is the number of counters. A counter is chosen by a hash of the NID, so some NIDs
// share one.
const shares = 1 << 12

// partOfOne determines the share of one NID: the largest number of tombstones, divided by partOfOne.
const partOfOne = 16

// shareOf returns the index of a NID's counter, 0 for the zero NID.
func shareOf(id nid.NID) uint16 {
	if !id.IsValid() {
		return 0
	}
	return uint16(1 + crc32.ChecksumIEEE(id.AppendExtended(make([]byte, 0, nid.ExtendedSize)))%(shares-1))
}

// nidOf returns the NID of a connected client. A tombstone that another server sends has no NID.
// The result is zero if the client is not connected.
func (s *Server) nidOf(id wire.ClientID) nid.NID {
	if i, ok := s.find(id); ok {
		return s.conn(i).peer.NID
	}
	return nid.NID{}
}

// put stores the tombstone of a client, and counts it.
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

// relieve makes room, and returns how many tombstones it removed. If a NID exceeds its share,
// relieve removes the oldest tombstones of that NID. It leaves three quarters of the share, so
// that the scan that finds them is rarely needed. Otherwise it removes the oldest tombstone of
// all. A client loses all tombstones of that NID. If it has others, of earlier incarnations, it then belongs to the group
// of those.
func (t *tombstones) relieve() (forgot uint64) {
	share := max(t.max/partOfOne, 1)
	most := 1
	if len(t.incarnations)-int(t.counts[0]) > share { // tombstones of a store, without NIDs, would call for the loop a million times at a start
		for by := 2; by < shares; by++ {
			if t.counts[by] > t.counts[most] {
				most = by
			}
		}
	}
	if int(t.counts[most]) <= share {
		return uint64(t.pop())
	}
	left := int32(max(share*3/4, 1))
	for _, p := range t.queue {
		if g, ok := t.incarnations[p.id]; ok && int(g.by) == most && p.ends(g) && t.counts[most] > left {
			list := t.list(p.id)
			forgot += uint64(len(list))
			list = slices.DeleteFunc(list, func(b tombstone) bool { return int(b.by) == most })
			forgot -= uint64(len(list))
			t.keep(p.id, list)
		}
	}
	return forgot
}
