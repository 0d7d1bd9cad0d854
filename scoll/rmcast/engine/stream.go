package engine

import (
	"iter"
	"time"

	"ulnet/lnet/machine"
	"ulnet/scoll/rmcast/wire"
)

// slot is what is known of one datagram of the window. What concerns the whole
// message is in the slot of its first one.
type slot struct {
	have      bool
	data      []byte // of the fragment, while it is here
	cast      bool   // it came by multicast
	size      uint32
	askAt     time.Duration // lacking: when to ask for it; 0: nobody knows that it was sent
	asked     uint8
	askedAt   time.Duration // when it was asked for last
	again     bool          // it came as a repair, and not yet by multicast
	repairs   uint16        // of this datagram, and below, that were not needless
	noticedAt time.Duration // when it was known to have been sent and was not here; 0: it came first, or was counted
	lentAt    time.Duration // when it was sent to a member that is no child

	count     uint16 // of fragments; 0: the message is not known
	here      uint16 // of them
	delivered bool   // and so it may be acknowledged
	complete  bool   // by all below
	told      bool   // the parent knows that we wait
	repaired  bool   // some of it came as a repair
	length    uint32
	at        time.Duration // when it was delivered
	token     any

	index uint16 // of every datagram that is here
}

// stream is what one origin sends under one version, at any member, the origin
// included (multicast §C.4). Sequence numbers below stable are
// released; those in [stable, stable+window) have a slot.
type stream struct {
	m      *Machine
	origin *peer
	roster *roster
	root   int // rank of the origin
	first  uint64
	stable uint64
	next   uint64 // everything below is delivered
	head   uint64 // nothing from here on is known to have been sent, or accepted if it is ours
	castTo uint64 // the newest datagram by multicast was below: what is lacking below is lost, and not late
	probed bool   // one of those from castTo on was asked for
	slots  []slot
	kept   int // bytes of datagrams, unless it is the own stream

	children []*child
	parent   int // rank; -1 at the origin

	up        []span // acknowledgements that wait
	confirmed []span // what was acknowledged and is not stable, in order
	upCount   int
	ackAt     time.Duration

	due     time.Duration // the earliest of all that follows, or before it
	askAt   time.Duration
	heardAt time.Duration // the origin's latest word
	queryAt time.Duration
	repairs int           // in a row, without a datagram by multicast
	lost    bool          // the others went on without us
	doubtAt time.Duration // when the origin may be asked again what is true
}

// span is a range of sequence numbers.
type span struct {
	first uint64
	end   uint64
}

func (s *stream) slot(seq uint64) *slot { return &s.slots[seq%uint64(len(s.slots))] }

func (s *stream) isRoot() bool { return s.parent < 0 }

// inWindow reports whether seq has a slot.
func (s *stream) inWindow(seq uint64) bool {
	return seq >= s.stable && seq-s.stable < uint64(len(s.slots))
}

// enter makes a stream one of a version, all of whose datagrams below base are
// released: an origin begins a version when nothing is in flight.
func (s *stream) enter(r *roster, first, base uint64) {
	if s.roster != nil {
		s.freeTo(base)
	}
	s.roster, s.root, s.first = r, r.rankOf(s.origin.id.NID), first
	s.stable, s.next, s.head, s.castTo, s.probed = base, base, base, base, false
	s.forgetAll()
	if len(s.slots) != r.window {
		s.slots = make([]slot, r.window)
	}
	s.up, s.confirmed, s.upCount, s.children = s.up[:0], s.confirmed[:0], 0, nil
	s.askAt, s.ackAt, s.queryAt, s.due = machine.Never, machine.Never, machine.Never, machine.Never
	s.lost = false
	s.rewire()
}

// whole reports whether all of the message that a datagram in the window is of is
// here, and returns its first datagram.
func (s *stream) whole(seq uint64) (first uint64, ok bool) {
	sl := s.slot(seq)
	if !sl.have {
		return 0, false
	}
	first = seq - uint64(sl.index)
	f := s.slot(first)
	return first, f.here == f.count
}

// wantAt makes sure that the stream is looked at, at an instant.
func (s *stream) wantAt(at time.Duration) {
	s.due = min(s.due, at)
	s.m.wake = min(s.m.wake, at)
}

// freeTo takes over that everything below stable is released: payload is kept until
// then and no longer (RM-A6).
func (s *stream) freeTo(stable uint64) {
	if stable <= s.stable {
		return
	}
	if stable > s.next { // released by all that count: this node does not
		s.m.stats.LeftOut++
		s.lost = true
		s.m.leftOut()
		s.next = stable
	}
	for seq := s.stable; seq < min(stable, s.stable+uint64(len(s.slots))); seq++ {
		i := seq % uint64(len(s.slots))
		s.forget(&s.slots[i])
		for _, k := range s.children {
			k.slots[i] = childSlot{}
		}
	}
	s.stable, s.head = stable, max(s.head, stable)
	s.up, s.confirmed = below(s.up, stable), below(s.confirmed, stable)
}

// advance moves next over what is delivered.
func (s *stream) advance() {
	for s.next < s.head {
		f := s.slot(s.next)
		if !f.delivered {
			return
		}
		s.next += uint64(f.count)
	}
}

// delivered lists the messages in the window that this member has delivered, by their first
// sequence numbers and slots. The loop may free the slot it was given last.
func (s *stream) delivered() iter.Seq2[uint64, *slot] {
	return func(yield func(uint64, *slot) bool) {
		for seq := s.stable; seq < s.head; {
			f, next := s.slot(seq), seq+1
			if f.delivered {
				next = seq + uint64(f.count)
				if !yield(seq, f) {
					return
				}
			}
			seq = next
		}
	}
}

// number of the origin in this version.
func (s *stream) number() uint32 { return s.roster.number(s.root) }

// entry begins an entry of this stream.
func (s *stream) entry(kind wire.EntryKind, first uint64, count int) wire.Entry {
	return wire.Entry{Kind: kind, Origin: s.number(), Version: s.roster.version, First: first, Count: uint32(count), Stable: s.stable}
}
