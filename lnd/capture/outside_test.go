package capture_test

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
)

// TestSegmentOutsideWindow: a segment far ahead, which its receiver never acknowledges, is damaged or was sent by
// another node. It does not hide anything that the real sender sends.
func TestSegmentOutsideWindow(t *testing.T) {
	const n = 300
	for _, far := range []uint32{300, 1 << 20, 1 << 30} {
		s := conversation(n)
		stray := s.list[gets+2*20]
		stray.at, stray.seq, stray.data = stray.at+1, stray.seq+far, []byte{0}
		list := slices.Insert(slices.Clone(s.list), gets+2*20+1, stray)
		got := outcomeOf(list)
		if got.messages != 2*n || got.lost != 0 || got.tcp.Repeated != 0 || far == 1<<30 && got.tcp.Late != 0 {
			t.Errorf("%d bytes ahead: %+v", far, got)
		}
		if far == 1<<30 { // the connection may end at once
			i := gets + 2*20
			d := replay(list[:i+4], func(*capture.Record) {})
			if got := outcomeOf(list[:i+4]); got.messages != 2*20+3 || got.lost != 0 || d.Counts().Outside != 1 {
				t.Errorf("end at once: %+v, %+v", got, d.Counts())
			}
		}
	}
}

// TestAckUnderWay: a capture lacks the second and the fourth of five messages, and all acknowledgements of the later
// ones. It has an acknowledgement of the first, which was under way when the others were captured. Because of that
// acknowledgement the dissector must not drop the third and the fifth as messages outside the receive window: both are
// reported, and the second and the fourth count as lost.
func TestAckUnderWay(t *testing.T) {
	put := framed(func(h *wire.Header) { h.SetPut(wire.PutCmd{AckMD: wire.NoHandle()}) })
	for _, silent := range []time.Duration{0, 3 * time.Second, 15 * time.Second} {
		s := greetings()
		for range 5 {
			s.say(0, capture.Initiator, ackFlag, put)
		}
		ack := s.list[gets+1].seq
		s.list = slices.Delete(s.list, gets+3, gets+4)
		s.list = slices.Delete(s.list, gets+1, gets+2)
		for _, at := range []time.Duration{1, silent} {
			s.list = append(s.list, timed{at, segment{back: true, seq: s.next[capture.Acceptor], ack: ack, flags: ackFlag, window: 9}})
		}
		if got := outcomeOf(s.list); got.messages != 3 || got.lost != 2*uint64(len(put)) {
			t.Errorf("%v: %+v", silent, got)
		}
	}
}

// TestSlowRetransmission: as long as acknowledgements show that the receiver waits for missing bytes, segments in
// the dissector wait for them, too.
func TestSlowRetransmission(t *testing.T) {
	s := greetings()
	put := framed(func(h *wire.Header) { h.SetPut(wire.PutCmd{AckMD: wire.NoHandle()}) })
	for i := range 10 {
		s.say(time.Duration(i), capture.Initiator, ackFlag, put)
	}
	missing := s.list[gets]
	s.list = slices.Delete(s.list, gets, gets+1)
	for _, end := range []time.Duration{6 * time.Second, 13 * time.Second} {
		list := slices.Clone(s.list)
		for at := time.Second; at < end; at += time.Second { // keepalives of the receiver, which has none of the PUTs in order
			list = append(list, timed{at, segment{back: true, seq: s.next[capture.Acceptor], ack: missing.seq, flags: ackFlag, window: 9}})
		}
		missing.at = end
		got := outcomeOf(append(list, missing))
		if got.messages != 10 || got.lost != 0 {
			t.Errorf("%v: %+v", end, got)
		}
	}
}

// TestBareSegmentOutsideWindow: a segment without data, whatever its sequence number, does not make later segments
// count as late.
func TestBareSegmentOutsideWindow(t *testing.T) {
	s := conversation(50)
	stray := s.list[gets+2*20]
	stray.seq, stray.data = stray.seq+1<<30, nil
	if got := outcomeOf(slices.Insert(s.list, gets+2*20, stray)); got != (outcome{messages: 100}) {
		t.Errorf("%+v", got)
	}
}

// TestBurstOutsideWindow: a burst of large segments far ahead, which come before the receiver can answer, hides
// nothing: all messages of the real sender are reported, and no bytes count as lost.
func TestBurstOutsideWindow(t *testing.T) {
	for _, far := range []uint32{1 << 17, 7 << 20, 1 << 30} {
		s, at := conversation(50), gets+2*20
		var strays []timed
		for i := range uint32(140) {
			stray := s.list[at]
			stray.seq, stray.data = stray.seq+far+i*(60<<10+1), make([]byte, 60<<10)
			strays = append(strays, stray)
		}
		got := outcomeOf(slices.Insert(s.list, at, strays...))
		if got.messages != 100 || got.lost > 0 || got.tcp.Repeated > 0 || far == 1<<30 && got.tcp != (capture.TCPCounts{}) {
			t.Errorf("%d bytes ahead: %+v", far, got)
		}
	}
}

// TestStrayOnIdleConnection: a segment, FIN or RST that the real sender did not send is captured; then the connection
// may be idle for some seconds. All messages of the real sender are reported, and no bytes count as lost.
func TestStrayOnIdleConnection(t *testing.T) {
	for name, change := range map[string]func(*timed){
		"data far ahead": func(x *timed) { x.seq, x.data = x.seq+1<<30, []byte{0} },
		"data":           func(x *timed) { x.seq, x.data = x.seq+1<<17, []byte{0} },
		"FIN":            func(x *timed) { x.seq, x.flags, x.data = x.seq+196, ackFlag|finFlag, nil },
		"RST":            func(x *timed) { x.seq, x.flags, x.data = x.seq+1<<17, ackFlag|rstFlag, nil },
		"old RST":        func(x *timed) { x.seq, x.flags, x.data = x.seq-500, ackFlag|rstFlag, nil },
	} {
		for _, pause := range []time.Duration{0, 5 * time.Second, 30 * time.Second} {
			s := conversation(50)
			i := gets + 2*20
			for k := i; k < len(s.list); k++ {
				s.list[k].at += pause
			}
			stray := s.list[i]
			stray.at = s.list[i-1].at + 1
			change(&stray)
			if got := outcomeOf(slices.Insert(s.list, i, stray)); got.messages != 100 || got.lost != 0 {
				t.Errorf("%s, %v: %+v", name, pause, got)
			}
		}
	}
}

// TestForgedReset: a RST that its receiver ignores, because it is outside the receive window, does not end the
// connection: all messages behind it are reported, and no bytes count as lost.
func TestForgedReset(t *testing.T) {
	s := greetings()
	put := framed(func(h *wire.Header) { h.SetPut(wire.PutCmd{AckMD: wire.NoHandle()}) })
	for i := range 60 {
		at := time.Duration(i) * getPeriod
		s.say(at, capture.Initiator, ackFlag, put)
		s.say(at, capture.Acceptor, ackFlag, nil)
		if i == 20 {
			s.say(at, capture.Initiator, ackFlag|rstFlag, nil)
			s.list[len(s.list)-1].seq += 8 << 20
		}
	}
	if got := outcomeOf(s.list); got.messages != 60 || got.lost != 0 {
		t.Errorf("%+v", got)
	}
}

// TestSnapLength: if the packets of a capture are cut, each segment leaves a gap. The messages in flight at the end are
// reported, too.
func TestSnapLength(t *testing.T) {
	s := greetings()
	put := framed(func(h *wire.Header) {
		h.SetPut(wire.PutCmd{AckMD: wire.NoHandle()})
		h.PayloadLength = 100
	})
	for range 5 {
		s.say(0, capture.Initiator, ackFlag, append(slices.Clone(put), make([]byte, 100)...))
	}
	s.say(0, capture.Acceptor, ackFlag, nil)
	s.list[len(s.list)-1].ack = s.list[gets+1].seq
	messages := 0
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		if r.Kind == capture.Message {
			messages++
		}
	})
	for _, x := range s.list {
		frame := x.frame()
		d.Packet(time.Unix(1000, 0), capture.LinkEthernet, frame[:min(len(frame), 200)])
	}
	if d.Close(); messages != 5 || d.Counts().Outside != 0 {
		t.Errorf("%d messages, %+v", messages, d.Counts())
	}
}

// TestLongPause: after a pause of the capture in which more than a receive window was sent, acknowledgements show at once
// that the connection goes on.
func TestLongPause(t *testing.T) {
	s := conversation(20)
	for i := gets + 2*10; i < len(s.list); i++ {
		if s.list[i].back {
			s.list[i].ack += 1 << 28
		} else {
			s.list[i].seq += 1 << 28
		}
	}
	if got := outcomeOf(s.list); got.messages != 40 || got.lost != 1<<28 {
		t.Errorf("%+v", got)
	}
}

// TestPauseWithoutAcks: a capture has had no acknowledgements for long before a pause of the capture in which more than
// a receive window was sent. The segments behind the pause are reported all the same: none waits, and the bytes that
// were sent in the pause count as lost.
func TestPauseWithoutAcks(t *testing.T) {
	const large = 60 << 10
	g, seq := newGapped(), uint32(2)
	g.send(988, segment{back: true, flags: synFlag | ackFlag, ack: 1})
	g.put(1, 1)
	for n := range 600 {
		if n == 300 {
			seq += 1 << 28
		}
		g.put(seq, large)
		seq += large
	}
	if n, _, _ := g.Waiting(); n != 0 || g.lost != 1<<28 || g.Counts().Outside != 0 {
		t.Errorf("%d segments wait, %d bytes lost, %+v", n, g.lost, g.Counts())
	}
}

// TestManyOutsideWindow: segments outside the window hide nothing, even if there are more of them than can wait.
func TestManyOutsideWindow(t *testing.T) {
	s := conversation(50)
	at := gets + 2*20
	var strays []timed
	for i := range uint32(5000) {
		stray := s.list[at]
		stray.seq, stray.data = stray.seq+1<<30+2*i, []byte{0}
		strays = append(strays, stray)
		if i == 0 {
			ack := s.list[at-1]
			ack.seq, ack.data = ack.seq+uint32(len(ack.data)), nil
			strays = append(strays, ack)
		}
	}
	if got := outcomeOf(slices.Insert(s.list, at, strays...)); got != (outcome{messages: 100}) {
		t.Errorf("%+v", got)
	}
}
