package engine

import (
	"errors"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// arrive handles a datagram, which came by multicast, as a repair, or down the tree.
func (m *Machine) arrive(from nid.NID, b []byte, cast bool) {
	d, fragment, err := wire.ParseDatagram(b)
	switch {
	case errors.Is(err, wire.ErrVersion):
		m.otherVersion(from)
		return
	case err != nil:
		m.stats.Malformed++
		return
	case d.Group != m.cfg.Group:
		m.stats.OtherGroup++
		return
	case cast && d.Flags&(wire.FlagRepair|wire.FlagTree|wire.FlagControl) != 0: // such datagrams are sent to one member only, never by multicast
		m.stats.Forged++
		return
	case d.Flags&wire.FlagRepair == 0 && m.chance(m.cfg.Faults.Datagrams):
		m.stats.Discarded++
		return
	}
	r := m.roster(d.Version)
	if r == nil {
		m.hold(Arrival, from, b, d.Version, cast)
		return
	}
	if s := m.streamFor(r, d.Origin, from, d.Flags); s != nil {
		m.datagram(s, r, &d, fragment, r.rankOf(from), cast)
	}
	if d.Flags&wire.FlagControl != 0 {
		m.control(from, d.ControlIn(b))
	}
}

// streamFor returns the stream of a datagram's origin, or nil if the datagram is dropped.
func (m *Machine) streamFor(r *roster, number uint32, from nid.NID, flags wire.DatagramFlags) *stream {
	origin, sender := r.numbered(number), r.rankOf(from)
	switch {
	case r.self < 0:
		m.stats.NotMember++
	case origin < 0 || sender < 0:
		m.stats.Stranger++
	case flags&(wire.FlagRepair|wire.FlagTree) == 0 && sender != origin:
		m.stats.Forged++
	case r.peers[sender].dead || r.peers[origin].dead:
		m.stats.Departed++
		if r.peers[sender].dead {
			m.expel(r, sender)
		}
	case origin == r.self:
		m.stats.Duplicates++ // this node's own multicast, looped back
	default:
		return m.stream(r.peers[origin])
	}
	return nil
}

// stream returns the stream of an origin, and creates it if there is none.
func (m *Machine) stream(p *peer) *stream {
	if p.stream == nil {
		p.stream = &stream{m: m, origin: p, heardAt: m.now}
		m.streams = append(m.streams, p.stream)
	}
	return p.stream
}

// enterVersion switches a stream to version r if r is later than the stream's. It returns false if r is earlier: the
// datagram is then dropped.
func (s *stream) enterVersion(r *roster, first, base uint64) bool {
	if s.roster != r {
		if s.roster != nil && r.version.Compare(s.roster.version) < 0 {
			s.m.stats.OldVersion++
			return false
		}
		s.enter(r, first, base)
	}
	return true
}

func (m *Machine) datagram(s *stream, r *roster, d *wire.Datagram, fragment []byte, sender int, cast bool) {
	switch own := !cast && sender == r.rankOf(s.origin.id.NID); {
	case own:
		s.confirm(r, d.Stable, d.Seq+uint64(min(d.Count, 1)))
	case (cast || s.roster != r) && s.doubts(r, d.Stable):
		return
	}
	if !s.enterVersion(r, d.First, d.Stable) {
		return
	}
	s.first = max(s.first, min(d.First, s.stable))
	s.freeTo(s.stableFrom(sender, d.Stable, cast))
	if sender == s.root {
		s.heard()
	}
	if cast {
		s.passed(d.Seq)
	}
	if d.Count == 0 {
		s.beat(d, sender)
		return
	}
	if s.lost {
		return
	}
	n := 0
	if d.Flags&wire.FlagPacked != 0 {
		n = s.unpack(d, fragment, sender, cast)
	} else if had := s.keep(d, fragment, cast); had == added {
		n = 1
		s.took(d, span{d.Seq, d.Seq + 1})
	} else if had == repeated && d.Flags&wire.FlagRepair != 0 {
		s.answer(sender, &wire.Entry{First: d.Seq - uint64(d.Index), Count: uint32(d.Count)})
	}
	switch {
	case n == 0:
	case d.Flags&wire.FlagRepair != 0:
		s.repaired(sender)
	default:
		s.repairs = 0
	}
}

// unpack handles a datagram with several messages, and returns how many of them were new here (RM-A25). If the
// datagram is a repair and has messages that are here already, their acknowledgement was lost, and unpack tells
// the sender again what is here.
func (s *stream) unpack(d *wire.Datagram, payload []byte, sender int, cast bool) (n int) {
	if int(d.Size) > s.roster.fragment {
		s.m.stats.Inconsistent++
		return 0
	}
	one, run, again := *d, span{d.Seq, d.Seq}, false
	one.Flags, one.Count = d.Flags&^wire.FlagPacked, 1
	for range d.Count {
		var message []byte
		message, payload, _ = wire.ParseMessage(payload) // ParseDatagram has checked all lengths
		one.Length, one.Size = uint32(len(message)), uint32(len(message))
		had := s.keep(&one, message, cast)
		again = again || had == repeated
		if one.Seq++; had == added {
			n++
			run.end = one.Seq
			continue
		}
		s.took(d, run)
		run = span{one.Seq, one.Seq}
	}
	s.took(d, run)
	if again && d.Flags&wire.FlagRepair != 0 {
		s.answer(sender, &wire.Entry{First: d.Seq, Count: uint32(d.Count)})
	}
	return n
}

// kept says what happened to a fragment that arrived.
type kept uint8

const (
	dropped  kept = iota
	repeated      // the fragment was here already
	added
)

// keep stores a fragment, unless it is here already, contradicts what is here, is outside of the window, or finds no
// memory.
func (s *stream) keep(d *wire.Datagram, fragment []byte, cast bool) kept {
	m := s.m
	switch {
	case !s.consistent(d) && (cast || !s.yields(d)):
		m.stats.Inconsistent++
		return dropped
	case d.Seq < s.stable || s.inWindow(d.Seq) && s.slot(d.Seq).have:
		s.duplicate(d)
		return repeated
	case !s.inWindow(d.Seq):
		m.stats.Window++
		return dropped
	case !s.fits():
		m.stats.NoMemory++
		return dropped
	}
	s.take(d, fragment, cast)
	return added
}

// heard notes that the origin is alive.
func (s *stream) heard() {
	s.heardAt = s.m.now
	s.queryAt = s.m.now + s.m.cfg.Silence
	s.wantAt(s.queryAt)
}

// consistent reports whether a fragment has the size and position that the version prescribes,
// and does not contradict others of its message.
func (s *stream) consistent(d *wire.Datagram) bool {
	size := uint32(s.roster.fragment)
	count := max(1, (uint64(d.Length)+uint64(size)-1)/uint64(size))
	want := min(size, d.Length-min(d.Length, uint32(d.Index)*size))
	first := d.Seq - uint64(d.Index)
	ok := uint64(d.Count) == count && int(count) <= s.roster.window && d.Size == want
	if ok && first < s.stable && d.Seq >= s.stable {
		ok = false // messages are released as a whole: no message can begin below stable and end above it
	}
	if ok && s.inWindow(first) {
		f := s.slot(first)
		ok = f.count == 0 || f.count == d.Count && f.length == d.Length
	}
	for i := uint64(0); ok && i < count && d.Seq >= s.stable; i++ { // no sequence number of its message may belong to another message
		if seq := first + i; s.inWindow(seq) {
			sl := s.slot(seq)
			ok = (!sl.have || uint64(sl.index) == i) && (i == 0 || sl.count == 0)
		}
	}
	return ok
}

// duplicate handles a fragment that this node has already (RM-A16).
func (s *stream) duplicate(d *wire.Datagram) {
	s.m.stats.Duplicates++
	if d.Flags&wire.FlagRepair != 0 || !s.inWindow(d.Seq) {
		return
	}
	sl := s.slot(d.Seq)
	s.overtaken(sl)
	if sl.again {
		sl.again = false
		s.needless(d.Seq-uint64(d.Index), d.Seq)
	}
}

// take stores a fragment.
func (s *stream) take(d *wire.Datagram, fragment []byte, cast bool) {
	sl, f := s.slot(d.Seq), s.slot(d.Seq-uint64(d.Index))
	sl.have, sl.cast, sl.index, sl.size, sl.askAt = true, cast, d.Index, d.Size, 0
	f.count, f.length = d.Count, d.Length
	f.here++
	s.store(sl, fragment)
	if d.Flags&wire.FlagRepair != 0 {
		s.m.stats.Repaired++
		f.repaired, sl.again, sl.repairs = true, true, sl.repairs+1
	} else {
		s.overtaken(sl)
	}
}

// took passes new fragments on to children that asked for them or, if there is no multicast, to
// all children, and delivers the messages that are complete.
func (s *stream) took(d *wire.Datagram, run span) {
	if run.end == run.first {
		return
	}
	s.notice(run.end)
	if d.Flags&wire.FlagTree != 0 && s.roster.tree {
		for _, k := range s.children {
			s.forward(k, run, d.Flags&wire.FlagBatch)
		}
	}
	s.granted(run)
	s.m.patient = d.Flags&(wire.FlagBatch|wire.FlagRepair) == wire.FlagBatch
	for seq := run.first; seq < run.end; seq++ {
		if first, ok := s.whole(seq); ok {
			s.deliverWhole(first)
		}
	}
}

// repaired counts repairs in a row: many of them mean that multicast does not work.
func (s *stream) repaired(sender int) {
	if s.repairs++; s.repairs == deafAfter && !s.roster.tree {
		s.m.emit(Effect{Kind: Deaf, Origin: s.origin.id, Member: s.roster.peers[sender].id})
	}
}

// notice records that the origin has sent all datagrams below end. Missing ones are requested
// after the grace period, because they may only be reordered (RM-A5).
func (s *stream) notice(end uint64) {
	end = min(end, s.stable+uint64(len(s.slots)))
	for ; s.head < end; s.head++ {
		if sl := s.slot(s.head); !sl.have {
			sl.askAt, sl.noticedAt = s.m.now+s.m.grace(), s.m.now
			if s.head >= s.castTo {
				sl.askAt = s.m.now + s.m.longGrace()
			}
			s.askAt = min(s.askAt, sl.askAt)
			s.wantAt(s.askAt)
		}
	}
}

// passed records that a datagram came by multicast. As the socket delivers in order, earlier
// datagrams that are still missing are lost.
func (s *stream) passed(end uint64) {
	if end > s.castTo {
		s.probed = false
	}
	from := max(s.castTo, s.stable)
	s.castTo = max(s.castTo, min(end, s.stable+uint64(len(s.slots))))
	at := s.m.now + s.m.grace()
	for seq := from; seq < min(s.castTo, s.head); seq++ {
		if sl := s.slot(seq); !sl.have && sl.asked == 0 && sl.askAt > at {
			sl.askAt = at
			s.askAt = min(s.askAt, at)
			s.wantAt(s.askAt)
		}
	}
}

// beat handles a heartbeat. Without multicast it is forwarded down the tree.
func (s *stream) beat(d *wire.Datagram, sender int) {
	s.notice(d.Seq)
	if d.Flags&wire.FlagTree != 0 && s.roster.tree && sender == s.parent {
		beat := *d
		beat.Flags = wire.FlagTree
		for _, k := range s.children {
			s.m.emit(Effect{Kind: DoRepair, To: s.roster.peers[k.rank].id.NID, Head: s.m.encoded(&beat)})
		}
	}
}

// grace returns how long this node waits for a datagram that control messages about it have overtaken, before it
// requests the datagram (RM-A5).
func (m *Machine) grace() time.Duration { return min(m.rtt.estimate(&m.cfg), time.Millisecond) }

// longGrace is the grace period for datagrams after the latest one that came by multicast. Such
// datagrams may wait in the socket's buffer because the reading thread has no core. The period
// is a quarter longer than the longest such delay measured.
func (m *Machine) longGrace() time.Duration {
	return max(m.grace(), min(5*m.late.estimate(m.now)/4, maxGrace))
}

// longestGrace is the time after which all datagrams of longGrace count as lost, even if no
// later datagram arrives.
func (m *Machine) longestGrace() time.Duration { return max(m.longGrace(), 10*m.cfg.Guard) }
