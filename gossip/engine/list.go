package engine

import (
	"crypto/sha1"
	"slices"
	"sort"

	"ulnet/gossip/wire"
	"ulnet/lnet/nid"
)

// List is the participants in their canonical order, which gives each its
// index. It does not change.
type List struct {
	nids   []nid.NID
	digest wire.Digest
}

// NewList orders the NIDs of the participants. They must differ, be at least
// two, and be of one LNet network.
func NewList(nids []nid.NID) (*List, error) {
	l := &List{nids: slices.Clone(nids)}
	slices.SortFunc(l.nids, nid.NID.Compare)
	switch {
	case len(nids) < 2:
		return nil, invalid("%d participants: want at least two", len(nids))
	case len(nids) > wire.MaxParticipants:
		return nil, invalid("%d participants: a message has room for %d", len(nids), wire.MaxParticipants)
	}
	for i, id := range l.nids {
		switch {
		case !id.IsValid() || id.IsAny() || id.IsLo():
			return nil, invalid("%v cannot be a participant", id)
		case id.Net() != l.nids[0].Net():
			return nil, invalid("participants on %v and %v: want one network", l.nids[0].Net(), id.Net())
		case i > 0 && id == l.nids[i-1]:
			return nil, invalid("participant %v is listed twice", id)
		}
	}
	l.digest = digest(l.nids)
	return l, nil
}

// digest is the SHA-1 digest of the NIDs as text, each with a line feed.
func digest(nids []nid.NID) wire.Digest {
	var text []byte
	for _, id := range nids {
		text = append(id.AppendTo(text), '\n')
	}
	return sha1.Sum(text)
}

// Len returns the number of participants, N in the gossip design.
func (l *List) Len() int { return len(l.nids) }

// NID returns the NID of a participant.
func (l *List) NID(i int) nid.NID { return l.nids[i] }

// NIDs returns the NIDs of the participants.
func (l *List) NIDs() []nid.NID { return slices.Clone(l.nids) }

// Digest returns the digest by which participants compare their lists.
func (l *List) Digest() wire.Digest { return l.digest }

// Index returns the index of a participant, or -1.
func (l *List) Index(id nid.NID) int {
	i, ok := sort.Find(len(l.nids), func(i int) int { return id.Compare(l.nids[i]) })
	if !ok {
		return -1
	}
	return i
}
