package capture_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/analyze"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// timed is a segment and the time at which it was captured.
type timed struct {
	at time.Duration
	segment
}

// spoken is the capture of a connection. A test adds the segments that the two sides send.
type spoken struct {
	list []timed
	next [2]uint32 // by side: sequence number of its next byte
}

// say adds a segment, which acknowledges all that the other side has sent.
func (s *spoken) say(at time.Duration, from capture.Side, flags byte, data []byte) {
	s.list = append(s.list, timed{at, segment{
		back: from == capture.Acceptor, seq: s.next[from], ack: s.next[from.Other()], flags: flags, window: 9, data: data,
	}})
	s.next[from] += uint32(len(data))
	if flags&synFlag != 0 {
		s.next[from]++
	}
}

// greetings returns a connection with its HELLOs.
func greetings() *spoken {
	s, hello := &spoken{}, bulkRuns(0)
	s.say(0, capture.Initiator, synFlag, nil)
	s.say(0, capture.Acceptor, synFlag|ackFlag, nil)
	s.say(0, capture.Initiator, ackFlag, hello[0].bytes)
	s.say(0, capture.Acceptor, ackFlag, hello[1].bytes)
	return s
}

// getPeriod is the time between two GETs of a conversation.
const getPeriod = 100 * time.Millisecond

// conversation returns a connection on which the initiator sends n GETs, one in each getPeriod. The acceptor
// answers each of them after a millisecond. The GET number i is the segment gets + 2*i, and its REPLY the next one.
func conversation(n int) *spoken {
	s := greetings()
	for i := range n {
		at := time.Duration(i+1) * getPeriod
		s.say(at, capture.Initiator, ackFlag, framed(func(h *wire.Header) { h.SetGet(wire.GetCmd{ReturnMD: wire.MDHandle{Object: uint64(i)}}) }))
		s.say(at+time.Millisecond, capture.Acceptor, ackFlag, framed(func(h *wire.Header) {
			h.SetReply(wire.ReplyCmd{DstMD: wire.MDHandle{Object: uint64(i)}})
			h.SrcNID, h.DestNID = h.DestNID, h.SrcNID
		}))
	}
	return s
}

const gets = 4

// framed returns a message from 10.0.0.1@tcp to 10.0.0.2@tcp. The function set fills in its header.
func framed(set func(*wire.Header)) []byte {
	k := ksock.MsgHeader{Type: ksock.LNet}
	h := wire.Header{SrcNID: nid.MustParse("10.0.0.1@tcp"), DestNID: nid.MustParse("10.0.0.2@tcp")}
	set(&h)
	b, _ := k.AppendBinary(nil)
	b, _ = h.AppendBinary(b)
	return b
}

// without returns the segments without the one at i.
func (s *spoken) without(i int) []timed { return slices.Delete(slices.Clone(s.list), i, i+1) }

// replay gives a capture to a dissector, which hands its records to emit.
func replay(list []timed, emit func(*capture.Record)) *capture.Dissector {
	d := capture.NewDissector(capture.Options{}, emit)
	for _, s := range list {
		d.Packet(time.Unix(1000, 0).Add(s.at), capture.LinkEthernet, s.frame())
	}
	d.Close()
	return d
}

// TestTimesBehindGap: a message after bytes that the capture lacks has the time and the number of its own packet,
// even if no acknowledgement shows that its receiver got those bytes.
func TestTimesBehindGap(t *testing.T) {
	for name, acknowledged := range map[string]bool{"acknowledged": true, "one direction": false} {
		for side := range 2 {
			list := conversation(50).without(gets + 2*5 + side)
			if !acknowledged {
				list = slices.DeleteFunc(list, func(s timed) bool { return s.back != (side == 1) })
			}
			var want, got []time.Duration
			for _, s := range list {
				if s.at > 0 {
					want = append(want, s.at)
				}
			}
			replay(list, func(r *capture.Record) {
				if at := r.Time.Sub(time.Unix(1000, 0)); r.Kind == capture.Message {
					got = append(got, at)
					if list[r.Frame-1].at != at {
						t.Errorf("%s, side %d: message of %v has frame %d, which is of %v", name, side, at, r.Frame, list[r.Frame-1].at)
					}
				}
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, side %d (-want +got):\n%s", name, side, diff)
			}
		}
	}
}

// TestLatencyBehindGap: if the capture lacks one packet, the analysis misses only the operation of that packet.
func TestLatencyBehindGap(t *testing.T) {
	for side, want := range []analyze.Unmatched{{Replies: 1}, {}} {
		a := analyze.New(analyze.Config{})
		replay(conversation(50).without(gets+2*5+side), a.Record)
		r := a.Report(time.Time{})
		if len(r.Kinds) != 1 || r.Unmatched != want || r.Kinds[0].Unanswered != uint64(side) || r.Kinds[0].Latency.Max > 10*time.Millisecond {
			t.Errorf("side %d: %+v, unmatched %+v", side, r.Kinds, r.Unmatched)
		}
	}
}

// divided divides a segment at a byte into two. It returns the second part, then the acknowledgement of both,
// which the segment answer carries, and then the first part, 5 microseconds apart.
func divided(whole, answer timed, at int) []timed {
	first, second, ack := whole, whole, answer
	first.data, second.data, ack.data = whole.data[:at], whole.data[at:], nil
	second.seq += uint32(at)
	ack.at = second.at + 5*time.Microsecond
	first.at = ack.at + 5*time.Microsecond
	return []timed{second, ack, first}
}

// TestAckBeforeReordered: a segment that is captured just after its acknowledgement is not lost: the two directions come
// from different queues of a device.
func TestAckBeforeReordered(t *testing.T) {
	s, i := conversation(10), gets+2*5
	list := slices.Concat(s.list[:i], divided(s.list[i], s.list[i+1], 40), s.list[i+1:])
	want := outcome{messages: 20, tcp: capture.TCPCounts{Late: 1}}
	if got := outcomeOf(list); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestAckBeforeSegment: a segment that is captured after its acknowledgement waits for earlier bytes no longer
// than other segments do. If those bytes still come later, they count as late, not as retransmissions.
func TestAckBeforeSegment(t *testing.T) {
	s, i := conversation(10), gets+2*5
	three := divided(s.list[i], s.list[i+1], 40)
	three[0], three[1] = three[1], three[0]
	three[2].at += 500 * time.Millisecond
	list := slices.Concat(s.list[:i], three[:2], s.list[i+1:i+8], three[2:], s.list[i+8:])
	want := outcome{messages: 19, lost: 40, tcp: capture.TCPCounts{Late: 1}}
	if got := outcomeOf(list); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestStaleAcknowledgement: if the capture lacks all later acknowledgements, an old one is not compared with
// segments whose sequence numbers are 2^31 bytes or more ahead of it.
func TestStaleAcknowledgement(t *testing.T) {
	const large = 60 << 10
	g, seq := newGapped(), uint32(2)
	g.send(988, segment{back: true, flags: synFlag | ackFlag, ack: 1})
	g.put(1, 1)
	for ; seq < 1<<31+1<<20; seq += large {
		g.put(seq, large)
	}
	g.put(seq+10, 10)
	if g.put(seq, 10); g.lost != 0 {
		t.Errorf("%d bytes lost", g.lost)
	}
}

// outcome counts what a dissector has made of a capture.
type outcome struct {
	messages int
	lost     uint64            // bytes
	tcp      capture.TCPCounts // of the initiator
}

func outcomeOf(list []timed) (o outcome) {
	replay(list, func(r *capture.Record) {
		switch r.Kind {
		case capture.Message:
			o.messages++
		case capture.Lost:
			o.lost += r.Length
		case capture.Closed:
			o.tcp = r.Conn.TCP[capture.Initiator]
		}
	})
	return o
}

// TestEndOfAnother: the end of one connection does not make the dissector give up a gap of another one.
func TestEndOfAnother(t *testing.T) {
	g := newGapped(2000)
	g.put(11, 5)
	g.send(2000, segment{seq: 11, flags: ackFlag, data: make([]byte, 5)})
	g.send(2000, segment{seq: 1 << 20, flags: synFlag})
	if g.lost != 10 {
		t.Errorf("%d bytes of the ended connection lost, want 10", g.lost)
	}
	if g.put(1, 10); g.lost != 10 {
		t.Errorf("%d bytes lost of a connection that goes on", g.lost-10)
	}
}

// TestDataAfterReset: data that were sent before a RST, but are captured just after it, are part of the connection.
func TestDataAfterReset(t *testing.T) {
	s, ids := conversation(5), map[int]bool{}
	i := len(s.list)
	s.say(time.Second, capture.Initiator, ackFlag, s.list[gets].data)
	s.say(time.Second, capture.Initiator, ackFlag|rstFlag, nil)
	s.list[i], s.list[i+1] = s.list[i+1], s.list[i]
	d := replay(s.list, func(r *capture.Record) { ids[r.Conn.ID] = true })
	if got := outcomeOf(s.list); len(ids) != 1 || d.Counts().Stray != 0 || got.messages != 11 || got.lost != 0 {
		t.Errorf("%d connections, %+v, %+v", len(ids), d.Counts(), got)
	}
}

// TestLostBeforeReset: kernel nodes end connections by RST. The sequence number of the RST shows how many bytes
// before it the capture lacks. An RST too far ahead is forged, and shows nothing.
func TestLostBeforeReset(t *testing.T) {
	for far, want := range map[uint32]uint64{0: 96, 1 << 30: 0} {
		s := conversation(5)
		s.next[capture.Initiator] += 96 + far
		s.say(time.Second, capture.Initiator, ackFlag|rstFlag, nil)
		if got := outcomeOf(s.list); got.lost != want || got.messages != 10 {
			t.Errorf("%d bytes too far: %+v", far, got)
		}
	}
}

// TestLostBeforeEnd: a connection whose last data segment is not captured ends soon after its FINs, and its loss is
// reported, whether the other side has acknowledged the FIN or not, and whether the FIN comes once or twice.
func TestLostBeforeEnd(t *testing.T) {
	const finFlag = 0x01
	for name, fins := range map[string][]capture.Side{
		"acknowledged": {capture.Initiator, capture.Acceptor}, "repeated": {capture.Initiator, capture.Initiator, capture.Acceptor},
		"not acknowledged": {capture.Acceptor, capture.Initiator}, "after much": {capture.Initiator, capture.Acceptor},
	} {
		far := uint64(0)
		if name == "after much" {
			far = 9 << 20
		}
		s, lost, closed := conversation(3), uint64(0), time.Time{}
		missing := s.list[gets+2*2]
		s.list = slices.Delete(s.list, gets+2*2, gets+2*2+2)
		s.next[capture.Initiator] += uint32(far)
		s.next[capture.Acceptor] = s.list[len(s.list)-1].seq + uint32(len(s.list[len(s.list)-1].data))
		for _, side := range fins {
			s.say(time.Second, side, ackFlag|finFlag, nil)
			if name == "not acknowledged" {
				s.list[len(s.list)-1].ack = 0
				s.list[len(s.list)-1].flags &^= ackFlag
			}
		}
		d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
			switch r.Kind {
			case capture.Lost:
				lost += r.Length
			case capture.Closed:
				closed = r.Time
				if r.Err != nil {
					t.Errorf("%s: ends with %v", name, r.Err)
				}
			}
		})
		for _, s := range s.list {
			d.Packet(time.Unix(1000, 0).Add(s.at), capture.LinkEthernet, s.frame())
		}
		for at := range time.Duration(10) { // packets of another connection
			frame := segment{seq: 9, flags: ackFlag}.frame()
			frame[14+20]++
			d.Packet(time.Unix(1001, 0).Add(at*time.Second), capture.LinkEthernet, frame)
		}
		if lost != far+uint64(len(missing.data)) || closed.IsZero() || closed.After(time.Unix(1005, 0)) {
			t.Errorf("%s: %d bytes lost, closed at %v", name, lost, closed)
		}
	}
}
