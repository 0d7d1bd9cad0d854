package capture_test

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
)

// TestCopies: a packet that was captured at two devices is no retransmission. One that was sent again is.
func TestCopies(t *testing.T) {
	for name, id := range map[string]uint16{"with an identification": 65500, "without": 0} {
		s := conversation(50)
		var list []timed
		for i, x := range s.list {
			if id != 0 {
				x.id = id + uint16(i)
			}
			list = append(list, x, timed{x.at + 5*time.Microsecond, x.segment})
		}
		again := list[len(list)-2] // the last REPLY
		again.at += time.Second
		if id != 0 {
			again.id++
		}
		conns := map[int]*capture.Conn{}
		d := replay(append(list, again), func(r *capture.Record) { conns[r.Conn.ID] = r.Conn })
		want := [2]capture.TCPCounts{{}, {Repeated: 1}}
		if len(conns) != 1 || conns[1].TCP != want || d.Counts().Copies != 2+2*50 {
			t.Errorf("%s: %d connections, %+v, %+v", name, len(conns), conns[1].TCP, d.Counts())
		}
	}
}

// TestCopiesOfWaiting: the copy of a segment that waits for lost bytes, or that was reordered, is no
// retransmission either.
func TestCopiesOfWaiting(t *testing.T) {
	s := conversation(6)
	for i := range s.list {
		s.list[i].id = uint16(i + 1)
	}
	var conn *capture.Conn
	first := gets + 2*3
	early := s.list[first+2]
	early.at = s.list[first].at
	d := replay(slices.Insert(s.list, first, early, early), func(r *capture.Record) { conn = r.Conn })
	want := capture.TCPCounts{Late: 1}
	if conn.TCP[capture.Initiator] != want || d.Counts().Copies != 2 {
		t.Errorf("%+v, %+v", conn.TCP, d.Counts())
	}
}

// puts returns a connection on which the initiator sends n PUTs in a burst, a microsecond apart.
func puts(n int) *spoken {
	s := greetings()
	for i := range n {
		s.say(time.Second+time.Duration(i)*time.Microsecond, capture.Initiator, ackFlag, framed(func(h *wire.Header) { h.SetPut(wire.PutCmd{AckMD: wire.NoHandle()}) }))
	}
	return s
}

// TestCopiesOfBurst: if a device has a queue, the copies of all packets of a burst are captured after the whole
// burst.
func TestCopiesOfBurst(t *testing.T) {
	for _, id := range []uint16{0, 65534} {
		s := puts(10)
		burst := slices.Clone(s.list[gets:])
		for i := range burst {
			if id != 0 {
				burst[i].id = id + uint16(2*i)
			}
		}
		list := append(s.list[:gets:gets], burst...)
		for _, x := range burst {
			x.at += 10 * time.Microsecond
			list = append(list, x)
		}
		if d := replay(list, func(*capture.Record) {}); outcomeOf(list).tcp.Repeated != 0 || d.Counts().Copies != 10 {
			t.Errorf("identification %d: %+v, %d copies", id, outcomeOf(list), d.Counts().Copies)
		}
	}
}

// TestCopiesOfParts: a bridge captures a large segment as one packet, and its port captures the parts into which
// the network device divides it: these are copies. Parts that are sent again are retransmissions.
func TestCopiesOfParts(t *testing.T) {
	s := puts(1)
	whole := s.list[gets]
	whole.id = 65000
	whole.data = slices.Concat(whole.data, whole.data, whole.data[:50])
	list := append(s.list[:gets:gets], whole)
	part := func(i int, id uint16) {
		p := whole
		p.seq += uint32(i * 96)
		p.data, p.id = whole.data[i*96:min(len(whole.data), (i+1)*96)], id
		p.at += time.Microsecond
		list = append(list, p)
	}
	for i := range 3 {
		part(i, whole.id+uint16(i))
	}
	for i := range 3 {
		part(i, whole.id+3+uint16(i))
	}
	if d := replay(list, func(*capture.Record) {}); outcomeOf(list).tcp.Repeated != 3 || d.Counts().Copies != 3 {
		t.Errorf("%+v, %d copies", outcomeOf(list), d.Counts().Copies)
	}
}

// TestIdentificationJumps: a retransmission is recognized whatever identification the packets before it have: the
// capture may lack many packets, or the SYN|ACK may have a random identification.
func TestIdentificationJumps(t *testing.T) {
	for _, tt := range []struct {
		jump uint16
		at   int
	}{{0, 30}, {100, 30}, {40000, 30}, {45000, 1}} {
		list := conversation(50).list
		for i := range list {
			list[i].id = 100 + uint16(i)
			if i >= tt.at {
				list[i].id += tt.jump
			}
		}
		again := list[len(list)-2]
		again.id += 2
		again.at += time.Second
		list = append(list, again)
		if d := replay(list, func(*capture.Record) {}); outcomeOf(list).tcp.Repeated != 1 || d.Counts().Copies != 0 {
			t.Errorf("%+v: %+v, %d copies", tt, outcomeOf(list), d.Counts().Copies)
		}
	}
}
