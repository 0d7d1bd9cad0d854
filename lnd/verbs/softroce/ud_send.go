package softroce

import (
	"errors"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
)

// udSender sends posted datagrams. Each is a burst of its own. The datagrams of a burst are numbered by
// the kernel, and the ICRC covers that number (see framer). If several were one burst, and one of them
// could not be sent, those behind it would get other numbers than their ICRCs cover.
type udSender struct {
	u      *ud
	psn    ibta.PSN // PSN of the next packet; receivers ignore it
	frame  framer
	posted []udWork
	bursts []wire.Burst // memory of the function flush
	gone   int          // number of datagrams at the front of posted that are done

	since time.Duration // when the backlog became long; 0: it is not long
	to    route         // route of the last datagram
	parts [][]byte
	done  []verbs.Completion
}

// udWork is a datagram that was posted.
type udWork struct {
	id       uint64
	signaled bool
}

// len returns how many are posted and not done.
func (s *udSender) len() int { return len(s.posted) - s.gone }

// push queues a datagram; it copies its bytes.
func (s *udSender) push(d *verbs.Datagram) {
	p := ibta.Packet{
		BTH:  ibta.BTH{OpCode: ibta.UDSendOnly, Migrated: true, PKey: ibta.DefaultPKey, DestQP: ibta.QPN(d.QPN), PSN: s.psn},
		DETH: ibta.DETH{QKey: s.qkey(d.QKey), SrcQP: s.u.qpn},
	}
	s.psn = s.psn.Add(1)
	for i := range d.Pieces {
		s.parts = append(s.parts, d.Pieces[i].Bytes)
	}
	s.frame.add(s.route(d.To.Unmap()), &p, s.parts)
	clear(s.parts)
	s.parts = s.parts[:0]
	s.posted = append(s.posted, udWork{id: d.ID, signaled: d.Signaled})
	if tap := s.u.hub.tap; tap != nil {
		b := &s.frame.bursts[len(s.frame.bursts)-1]
		tap(verbs.TappedPacket{
			From: s.u.hub.attr.Local, To: b.route.To, Sent: true, TrafficClass: b.route.Class, Bytes: s.frame.Bytes(b),
		})
	}
}

// qkey returns the Q_Key of a packet: the queue pair's own if the top bit asks for
// that (rocev2 §10).
func (s *udSender) qkey(q uint32) ibta.QKey {
	if q>>31 != 0 {
		q = s.u.cfg.QKey
	}
	return ibta.QKey(q)
}

// route returns the route to an address.
func (s *udSender) route(to netip.Addr) route {
	if s.to.To.Addr() != to {
		s.to = s.u.hub.route(to, s.u.cfg.TrafficClass, wire.NoDoubt)
	}
	return s.to
}

// Bounds of the backlog of a device's socket, above which datagrams wait, and of how long one of
// them waits while the backlog stays so long. Queues of interfaces have room for more, but silently
// drop what exceeds it. Local policy.
const (
	mostBacklog = 200 << 10 // most bytes that wait, with the system's overhead
	longestWait = 2 * time.Millisecond
)

// room returns how many datagrams the backlog of the socket permits. If connections keep the
// backlog long, it permits one datagram each longestWait.
func (s *udSender) room(now time.Duration) int {
	p, known := s.u.hub.port.(interface{ Backlog() int })
	switch {
	case !known || p.Backlog() < mostBacklog:
		s.since = 0
		return s.len()
	case s.since == 0:
		s.since = now
	case now-s.since >= longestWait:
		s.since = now
		return 1
	}
	return 0
}

// flush sends posted datagrams until there is no room.
func (s *udSender) flush(port wire.Conn, now time.Duration) {
	s.bursts = s.bursts[:0]
	for i := range s.room(now) {
		i += s.gone
		b := &s.frame.bursts[i]
		s.bursts = append(s.bursts, wire.Burst{
			To: b.route.To, Class: b.route.Class, Size: b.size, Segments: 1, Bytes: s.frame.Bytes(b),
		})
	}
	for rest := s.bursts; len(rest) > 0; {
		n, err := port.Send(rest)
		for range n {
			s.complete(verbs.Success)
		}
		rest = rest[n:]
		if errors.Is(err, wire.ErrFull) || err == nil && n == 0 {
			break
		}
		if err != nil && len(rest) > 0 {
			s.u.hub.refused(err)
			s.u.counters.failed.Add(1)
			status := verbs.General
			if errors.Is(err, syscall.EMSGSIZE) {
				status = verbs.LocalLength
			}
			s.complete(status)
			rest = rest[1:]
		}
	}
	clear(s.bursts)
	s.settle()
}

// complete appends the completion of the oldest datagram.
func (s *udSender) complete(status verbs.Status) {
	w := s.posted[s.gone]
	s.gone++
	if status == verbs.Success {
		s.u.counters.sent.Add(1)
		if !w.signaled {
			s.u.sends.release(1)
			return
		}
	}
	s.done = append(s.done, verbs.Completion{ID: w.id, QPN: uint32(s.u.qpn), Op: verbs.Send, Status: status})
}

// settle frees the memory of completed datagrams.
func (s *udSender) settle() {
	switch {
	case s.len() == 0:
		s.posted, s.gone = s.posted[:0], 0
		if s.frame.Reset(); cap(s.frame.bytes) > keptBytes {
			s.frame = framer{}
		}
	// as many are done as are left, or more, so moving those that are left costs little
	case 2*s.gone >= len(s.posted):
		s.posted = slices.Delete(s.posted, 0, s.gone)
		s.frame.skip(s.gone)
		s.gone = 0
	}
}

// skip removes the first n bursts, which were sent.
func (f *framer) skip(n int) {
	gone := f.bursts[n].from
	f.bytes = slices.Delete(f.bytes, 0, gone)
	f.bursts = slices.Delete(f.bursts, 0, n)
	for i := range f.bursts {
		f.bursts[i].from -= gone
		f.bursts[i].to -= gone
	}
}

// drop completes all posted datagrams with the status flushed.
func (s *udSender) drop() {
	for s.len() > 0 {
		s.complete(verbs.Flushed)
	}
	s.settle()
}

// takeDone hands out the completions, and giveBack takes their memory back.
func (s *udSender) takeDone() []verbs.Completion {
	list := s.done
	s.done = nil
	return list
}

func (s *udSender) giveBack(list []verbs.Completion) {
	if s.done == nil && cap(list) <= keptPackets {
		clear(list)
		s.done = list[:0]
	}
}
