package engine

import (
	"iter"

	"ulnet/scoll/rmcast/wire"
)

// Messages of one fragment that leave at the same time go in one datagram, as many as fit in the
// size of a fragment (RM-A25). Each keeps its sequence number: a datagram that is lost is a gap
// of several numbers, and windows, acknowledgements and requests are as if each message had a
// datagram of its own.

// together says how much leaves in one datagram, from the number seq on: several messages of one
// fragment each, or one fragment of a longer message. It returns the number after the last of
// them, at most end.
func (s *stream) together(seq, end uint64) uint64 {
	next, size := seq, 0
	for ; next < end; next++ {
		sl := s.slot(next)
		if size += wire.LengthSize + len(sl.data); !sl.have || sl.count != 1 || size > s.roster.fragment {
			break
		}
	}
	return max(next, seq+1)
}

// send sends to one member the fragments of a run, all of which this node has. It returns how many
// PUTs it made.
func (s *stream) send(rank int, run span, flags wire.DatagramFlags) (puts int) {
	for seq := run.first; seq < run.end; puts++ {
		end := s.together(seq, run.end)
		d, data := s.datagramOf(span{seq, end}, flags)
		to := s.roster.peers[rank].id.NID
		data = s.m.withAcks(to, &d, data, s.roster.fragment)
		s.m.emit(Effect{Kind: DoRepair, To: to, Head: s.m.encoded(&d), Data: data})
		seq = end
	}
	return puts
}

// datagramOf returns the datagram for a range of numbers that leave together (see the method together):
// the one datagram as this node has it, or a datagram that packs the messages of several. The payload is
// a copy in the output, because further steps may reuse the buffers of the messages before the effect
// is applied.
func (s *stream) datagramOf(what span, flags wire.DatagramFlags) (d wire.Datagram, data []byte) {
	m, n := s.m, what.end-what.first
	d = s.header(what.first, flags)
	begin := len(m.out.Buf)
	if n == 1 {
		m.out.Buf = append(m.out.Buf, s.slot(what.first).data...)
	} else {
		for seq := what.first; seq < what.end; seq++ {
			m.out.Buf = wire.AppendMessage(m.out.Buf, s.slot(seq).data)
		}
		size := uint32(len(m.out.Buf) - begin)
		d.Flags, d.Count, d.Length, d.Size = d.Flags|wire.FlagPacked, uint16(n), size, size
	}
	return d, m.out.Buf[begin:len(m.out.Buf):len(m.out.Buf)]
}

// header returns the header of a datagram that this node has.
func (s *stream) header(seq uint64, flags wire.DatagramFlags) wire.Datagram {
	sl := s.slot(seq)
	f := s.slot(seq - uint64(sl.index))
	if s.roster.tree {
		flags |= wire.FlagTree
	}
	return wire.Datagram{
		Group: s.m.cfg.Group, Flags: flags, Version: s.roster.version, Origin: s.number(), Length: f.length,
		Seq: seq, Index: sl.index, Count: f.count, Size: sl.size, Stable: s.stable, First: s.first,
	}
}

// end is the end of the window.
func (s *stream) end() uint64 { return s.stable + uint64(len(s.slots)) }

// runs iterates over the longest runs of sequence numbers for which has returns true. It calls
// has once for each number, in ascending order.
func runs(what span, has func(seq uint64) bool) iter.Seq[span] {
	return func(yield func(span) bool) {
		run := span{what.first, what.first}
		for seq := what.first; seq < what.end; seq++ {
			if has(seq) {
				run.end = seq + 1
				continue
			}
			if run.end > run.first && !yield(run) {
				return
			}
			run = span{seq + 1, seq + 1}
		}
		if run.end > run.first {
			yield(run)
		}
	}
}
