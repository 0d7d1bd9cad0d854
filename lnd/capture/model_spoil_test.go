package capture_test

import (
	"slices"
	"time"

	"ulnet/lnd/capture"
)

// caught is a packet in a capture.
type caught struct {
	timed
	cut   int  // how many bytes at its end were not captured
	stray bool // no node of the connection sent it
	fixed bool // faults do not move, remove or cut it
}

func (p *caught) side() capture.Side {
	if p.back {
		return capture.Acceptor
	}
	return capture.Initiator
}

// reach returns the offset, in the stream of its side, at which the captured bytes of a packet end. It returns 0 if the
// packet has neither bytes nor a FIN or RST.
func (m *model) reach(p caught) int {
	n := len(p.data) - p.cut
	if n == 0 && p.flags&(finFlag|rstFlag) == 0 {
		return 0
	}
	return int(p.seq-m.isn[p.side()]) + n
}

// spoil returns a capture of the connection, with some faults.
func (m *model) spoil() []caught {
	var list []caught
	for _, p := range m.captured() {
		list = append(list, caught{timed: p, fixed: p.flags&synFlag != 0})
	}
	if m.inside {
		list = list[m.IntN(len(list)*2/3):]
		for i := range min(6, len(list)) {
			list[i].fixed = true
		}
	}
	for _, fault := range []func([]caught) []caught{m.snap, m.drop, m.copies, m.swap, m.behind, m.strays} {
		if m.IntN(3) == 0 {
			list = fault(list)
		}
	}
	return list
}

// drop removes single packets, or bursts of them.
func (m *model) drop(list []caught) []caught {
	for range 1 + m.IntN(4) {
		i, n := m.IntN(len(list)), 1
		if m.IntN(3) == 0 {
			n += m.IntN(10)
		}
		for j := min(len(list), i+n) - 1; j >= i; j-- {
			if !list[j].fixed {
				list = slices.Delete(list, j, j+1)
			}
		}
	}
	return list
}

// snap cuts all packets at one length.
func (m *model) snap(list []caught) []caught {
	n := 150 + m.IntN(300)
	for i := range list {
		list[i].cut = max(0, len(list[i].data)-n)
	}
	return list
}

// copies captures some packets twice.
func (m *model) copies(list []caught) []caught {
	for i := 0; i < len(list); i++ {
		if m.IntN(5) == 0 {
			again := list[i]
			again.at += 3 * time.Microsecond
			list = slices.Insert(list, i+1, again)
			i++
		}
	}
	return list
}

// swap captures some packets in front of their predecessors.
func (m *model) swap(list []caught) []caught {
	for i := range list[1:] {
		a, b := &list[i], &list[i+1]
		if m.IntN(6) == 0 && !a.fixed && !b.fixed && b.at-a.at < 500*time.Microsecond && a.back == b.back {
			*a, *b = *b, *a
		}
	}
	return list
}

// behind moves some packets behind the acknowledgements of their bytes, as if they had been captured late.
func (m *model) behind(list []caught) []caught {
	for i := 0; i < len(list); i++ {
		j := i + 1
		for j < len(list) && list[j].at-list[i].at < 500*time.Microsecond && !list[j].fixed && (list[j].flags&rstFlag == 0 || !m.inside) && (list[j].back == list[i].back || len(list[j].data) == 0 && list[j].flags == ackFlag) {
			j++
		}
		if m.IntN(4) == 0 && !list[i].fixed && len(list[i].data) > 0 && j > i+1 {
			p := list[i]
			p.at = list[j-1].at + 2*time.Microsecond
			list = slices.Insert(list, j, p)
			list = slices.Delete(list, i, i+1)
			i = j
		}
	}
	return list
}

// strays adds segments that no node of the connection sent, with sequence numbers outside the receive window.
func (m *model) strays(list []caught) []caught {
	for range 1 + m.IntN(3) {
		i := 1 + m.IntN(len(list)-1)
		for i < len(list) && list[i].fixed {
			i++
		}
		s := segment{back: m.IntN(2) == 0, flags: ackFlag, window: 500}
		told := func(p caught) bool { return !p.stray && p.back != s.back && p.flags&ackFlag != 0 }
		begun := func(p caught) bool { return !p.stray && p.back == s.back && (p.flags&synFlag != 0 || m.reach(p) > 0) }
		if !slices.ContainsFunc(list[:i], told) || !slices.ContainsFunc(list[:i], begun) {
			continue // only one direction is captured up to here: a stray segment would not be recognized (docs/security.md)
		}
		side := (&caught{timed: timed{segment: s}}).side()
		s.ack = m.isn[side.Other()]
		for _, p := range list[:i] {
			if !p.stray && p.back == s.back && p.flags&ackFlag != 0 {
				s.ack = p.ack
			}
		}
		far := []int{70 << 10, 1 << 20, 7 << 20, 8 << 20, 9 << 20, 1 << 28, 1 << 30}[m.IntN(7)] + m.IntN(2000)
		if m.inside {
			far += largestWindow
		}
		s.seq = m.isn[side] + uint32(far+len(m.stream[side]))
		n := 1
		switch m.IntN(7) {
		case 0:
			s.flags |= finFlag
		case 1:
			s.flags |= rstFlag
		case 2:
			s.data = make([]byte, 1+m.IntN(1400))
		case 3:
			s.data, s.flags = []byte{0}, ackFlag|finFlag
		case 4:
			s.data = []byte{0}
		case 5: // below the sequence numbers of this connection, as from an earlier one
			s.seq, s.data = m.isn[side]-uint32(1000+m.IntN(100_000)), make([]byte, 100)
		case 6:
			s.data = make([]byte, 60<<10)
			n = 1 + m.IntN(8)/7*139
		}
		for k := range n {
			stray := s
			stray.id, stray.seq = uint16(m.Uint32()), s.seq+uint32(k*(60<<10+1))
			list = slices.Insert(list, i+k, caught{timed: timed{list[i-1].at + time.Microsecond, stray}, stray: true})
		}
	}
	return list
}
