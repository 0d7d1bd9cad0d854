package engine

import (
	"iter"
	"time"

	"ulnet/lnet/machine"
	"ulnet/scoll/rmcast/wire"
)

// slot is the state of one datagram in the window. State of the whole message is kept in the
// slot of its first datagram.
type slot struct {
	have       bool
	data       []byte // the fragment, if it has arrived
	cast       bool   // the fragment came by multicast
	size       uint32
	askAt      time.Duration // when to request a missing datagram; 0: not known to be sent
	asked      uint8
	askedAt    time.Duration // when this node last requested the datagram
	again      bool          // the datagram came as a repair, and has not come by multicast yet
	repairs    uint16        // repairs of this datagram, at this node and below, that were not needless
	noticedAt  time.Duration // when the member learned that the datagram was sent, while it was missing; 0: the datagram itself came first, or the delay was already sampled
	repairedAt time.Duration // when the datagram was resent to a member that is not a child

	count     uint16 // number of fragments of the message; 0: not known
	here      uint16 // number of fragments of the message that have arrived
	delivered bool   // the message was delivered to the user, and may be acknowledged
	complete  bool   // all members below have the message
	told      bool   // the parent was told that this member waits
	repaired  bool   // a fragment of the message came as a repair
	length    uint32
	at        time.Duration // when the message was delivered
	token     any

	index uint16 // index of this datagram in its message
}

// stream is the state of one origin's messages under one version, at any member, the origin
// included (docs/spec/multicast.md, C.4). Datagrams below stable are released; those in
// [stable, stable+window) have a slot.
type stream struct {
	m      *Machine
	origin *peer
	roster *roster
	root   int // rank of the origin
	first  uint64
	base   uint64 // all datagrams below this number were released before the version began
	stable uint64
	next   uint64 // all datagrams below this number are delivered
	head   uint64 // end of the datagrams that are known to be sent or, at the origin, accepted
	castTo uint64 // end of the datagrams that came by multicast: missing ones below it are lost, not late
	probed bool   // one missing datagram from castTo on was requested
	slots  []slot
	kept   int // bytes of the datagrams that are kept; not counted at the origin

	children []*child
	parent   int // rank of the parent; -1 at the origin

	up        []span // ranges whose acknowledgement is to be sent
	confirmed []span // acknowledged ranges that are not stable, in ascending order
	upCount   int
	ackAt     time.Duration

	due     time.Duration // lower bound of all times below
	askAt   time.Duration
	heardAt time.Duration // when the last message of the origin arrived
	queryAt time.Duration
	repairs int           // repairs in a row, without a datagram by multicast between them
	lost    bool          // messages were released without this member
	doubtAt time.Duration // when the origin may be queried again
	past    []past        // the versions that the stream has left and this member still knows
	guessed bool          // no message that is surely from the origin has confirmed that its first datagram here is number 1
}

// span is a range of sequence numbers: first up to but not including end.
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

// enter switches a stream to a version in which all datagrams below base are released, because
// an origin has nothing in flight when it begins a version.
func (s *stream) enter(r *roster, first, base uint64) {
	if s.roster != nil {
		s.freeTo(base)
		s.leaveVersion(base)
	}
	s.begin(r, first, base, base)
}

// begin starts with an empty window in version r, which began at base and in which all datagrams
// below stable are released or acknowledged.
func (s *stream) begin(r *roster, first, base, stable uint64) {
	s.roster, s.root, s.first, s.base = r, r.rankOf(s.origin.id.NID), first, base
	s.stable, s.next, s.head, s.castTo, s.probed = stable, stable, stable, stable, false
	s.forgetAll()
	if len(s.slots) != r.window {
		s.slots = make([]slot, r.window)
	}
	s.up, s.confirmed, s.upCount, s.children = s.up[:0], s.confirmed[:0], 0, nil
	s.askAt, s.ackAt, s.queryAt, s.due = machine.Never, machine.Never, machine.Never, machine.Never
	s.lost = false
	s.rewire()
}

// whole returns the first datagram of the message to which a datagram in the window belongs,
// and whether the message is complete. A message of which a part is released is not.
func (s *stream) whole(seq uint64) (first uint64, ok bool) {
	sl := s.slot(seq)
	first = seq - uint64(sl.index)
	if !sl.have || first < s.stable {
		return 0, false
	}
	f := s.slot(first)
	return first, f.here == f.count
}

// wantAt makes the stream's timer expire at an instant.
func (s *stream) wantAt(at time.Duration) {
	s.due = min(s.due, at)
	s.m.wake = min(s.m.wake, at)
}

// freeTo records that everything below stable is released, and frees its payload (RM-A6). Messages are released as a
// whole, so it keeps a delivered message of which only the beginning is below stable.
func (s *stream) freeTo(stable uint64) {
	if stable = s.boundary(stable); stable <= s.stable {
		return
	}
	if stable > s.next { // the other members have released a message that this one has not delivered
		s.m.stats.LeftOut++
		s.lost = true
		s.m.leftOut()
		s.discardAt(stable)
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

// boundary returns the end of the last delivered message that ends at a sequence number or before
// it. A number above all delivered messages is returned as it is.
func (s *stream) boundary(seq uint64) uint64 {
	if seq > s.next {
		return seq
	}
	end := s.stable
	for end < seq && end+uint64(s.slot(end).count) <= seq {
		end += uint64(s.slot(end).count)
	}
	return end
}

// advance raises next past the delivered messages.
func (s *stream) advance() {
	for s.next < s.head {
		f := s.slot(s.next)
		if !f.delivered {
			return
		}
		s.next += uint64(f.count)
	}
}

// delivered iterates over the delivered messages in the window: their first sequence numbers
// and slots. The loop body may free the slot.
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

// number returns the origin's communication number in this version.
func (s *stream) number() uint32 { return s.roster.number(s.root) }

// entry returns a control entry about this stream's datagrams.
func (s *stream) entry(kind wire.EntryKind, first uint64, count int) wire.Entry {
	return wire.Entry{Kind: kind, Origin: s.number(), Version: s.roster.version, First: first, Count: uint32(count), Stable: s.stable}
}
