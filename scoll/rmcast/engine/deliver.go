package engine

import (
	"slices"

	"ulnet/lnet/machine"
	"ulnet/scoll/rmcast/wire"
)

// deliverWhole delivers a complete message or, with FIFO, all complete messages that are next
// in order.
func (s *stream) deliverWhole(first uint64) {
	if !s.m.cfg.FIFO {
		s.deliver(first)
		s.advance()
		return
	}
	for s.next < s.head {
		f, ok := s.whole(s.next)
		if !ok || f != s.next {
			return
		}
		s.deliver(f)
		s.advance()
	}
}

// deliver hands a message to the user, and starts to wait for the children.
func (s *stream) deliver(first uint64) {
	f := s.slot(first)
	f.delivered, f.at = true, s.m.now
	s.m.stats.Delivered++
	s.m.emit(Effect{Kind: Deliver, Origin: s.origin.id, Number: s.number(), Seq: first, Data: s.message(first)})
	for _, k := range s.children {
		if s.childHas(k, first, f.count) {
			continue
		}
		if s.watch(k, first); f.repaired { // this node got the message late, as a repair: by now the child should have acknowledged it
			s.poll(k.rank, span{first, first + uint64(f.count)}, wire.FlagAtOnce)
		}
	}
	if !s.isRoot() {
		s.queryAt = min(s.queryAt, s.m.now+s.m.cfg.Silence)
		s.wantAt(s.queryAt)
	}
	s.check(first)
}

// check completes a message if all children have acknowledged it: this member then acknowledges it
// to its parent, once (RM-A3); at the origin, the message is released.
func (s *stream) check(first uint64) {
	f := s.slot(first)
	if !f.delivered || f.complete {
		return
	}
	for _, k := range s.children {
		for i := range uint64(f.count) {
			if !k.slot(first + i).acked {
				return
			}
		}
	}
	f.complete = true
	if s.isRoot() {
		s.released(first, f)
		return
	}
	s.acknowledge(first, f)
}

// below drops the spans that are stable as a whole.
func below(list []span, stable uint64) []span {
	n := 0
	for n < len(list) && list[n].end <= stable {
		n++
	}
	return list[:copy(list, list[n:])]
}

// acknowledge queues a message for the next acknowledgement to the parent.
func (s *stream) acknowledge(first uint64, f *slot) {
	sp := span{first, first + uint64(f.count)}
	s.upCount++
	if n := len(s.up); n > 0 && s.up[n-1].end == sp.first {
		s.up[n-1].end = sp.end
	} else {
		s.up = append(s.up, sp)
	}
	s.m.dirty(s)
}

// flushAcks sends queued acknowledgements, unless a delay is likely to merge more.
func (s *stream) flushAcks() {
	switch {
	case len(s.up) == 0:
		return
	case s.m.patient && s.ackAt > s.m.now && s.upCount < max(1, len(s.slots)/8):
		s.ackAt = min(s.ackAt, s.m.now+s.m.cfg.AckDelay)
		s.wantAt(s.ackAt)
		if !slices.Contains(s.m.delayed, s) {
			s.m.delayed = append(s.m.delayed, s)
		}
		return
	}
	s.m.stats.Acks++
	s.tellAcks()
}

// tellAcks sends new acknowledgements to the parent.
func (s *stream) tellAcks() {
	s.m.taken = s.takeAcks(s.m.taken[:0])
	for _, e := range s.m.taken {
		s.m.tell(s.roster, s.parent, e)
	}
}

// takeAcks appends new acknowledgements for the parent. As TCP's SACK blocks do, it repeats
// adjacent ranges that are not stable yet, so a lost acknowledgement needs no poll.
func (s *stream) takeAcks(list []wire.Entry) []wire.Entry {
	for _, sp := range s.up {
		s.confirmed = join(s.confirmed, sp)
	}
	for i, all := range s.confirmed {
		e, news := s.entry(wire.Ack, all.first, int(all.end-all.first)), i == 0
		for _, sp := range s.up {
			if all.first <= sp.first && sp.end <= all.end {
				e.Repairs, news = min(e.Repairs, 1<<15)+min(s.repairsOf(sp), 1<<15-1), true
			}
		}
		if news {
			list = append(list, e)
		}
	}
	s.up, s.upCount, s.ackAt = s.up[:0], 0, machine.Never
	return list
}

// join adds a span to an ordered list, and merges it with the spans that it overlaps or adjoins.
func join(list []span, sp span) []span {
	i := len(list)
	for i > 0 && list[i-1].end >= sp.first {
		i--
	}
	n := i
	for ; n < len(list) && list[n].first <= sp.end; n++ {
		sp = span{min(sp.first, list[n].first), max(sp.end, list[n].end)}
	}
	return slices.Replace(list, i, n, sp)
}

// repairsOf sums the repairs of messages, here and below (RM-A21).
func (s *stream) repairsOf(sp span) uint16 {
	sum := 0
	for seq := max(sp.first, s.stable); seq < sp.end; seq++ {
		sum += int(s.slot(seq).repairs)
	}
	return uint16(min(sum, 1<<16-1))
}
