package capture_test

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/verbs/ibta"
)

// roceOutcome dissects packets of RoCE that are captured one each step of time. It returns the number of messages, the
// number of packets that count as lost, and the dissector's counters.
func roceOutcome(list []capture.Packet, step time.Duration) (messages int, lost uint64, c capture.Counts) {
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		switch r.Kind {
		case capture.Message:
			messages++
		case capture.Lost:
			lost += r.Length
		}
	})
	for i, p := range list {
		d.Packet(time.Unix(1, 0).Add(time.Duration(i)*step), p.Link, p.Data)
	}
	d.Close()
	return messages, lost, d.Counts()
}

// messages sends messages of one packet each.
func (w *roceWire) messages(n int) {
	for range n {
		w.message(0, immediate("payload"), 4096)
	}
}

// TestRoCEAckUnderWay: a capture lacks the second and the fourth of five packets, and all acknowledgements of the later
// ones. It has an acknowledgement of the first, which was under way when the others were captured. Because of that
// acknowledgement the dissector must not drop the third and the fifth as strays (packets of no node of the connection).
func TestRoCEAckUnderWay(t *testing.T) {
	w := newRoceWire(t)
	w.messages(5)
	w.list = slices.Delete(w.list, 3, 4)
	w.list = slices.Delete(w.list, 1, 2)
	w.answer(1, w.ends[0].psn.Add(-5), ibta.AckUnlimited)
	if messages, lost, c := roceOutcome(w.list, 0); messages != 3 || lost != 2 || c.Outside != 0 {
		t.Errorf("%d messages, %d packets lost, %+v", messages, lost, c)
	}
}

// TestRoCELastAck: the last packet is not dropped as a stray if an acknowledgement shows that the responder has all
// packets before it, even if the capture lacks one of these and another one came late.
func TestRoCELastAck(t *testing.T) {
	w := newRoceWire(t)
	w.messages(1)
	w.answer(1, w.ends[0].psn.Add(-1), ibta.AckUnlimited)
	w.messages(3)
	w.list[2], w.list[3], w.list = w.list[4], w.list[2], w.list[:4]
	w.answer(1, w.ends[0].psn.Add(-2), ibta.AckUnlimited)
	if messages, lost, c := roceOutcome(w.list, 0); messages != 3 || lost != 1 || c.Outside != 0 {
		t.Errorf("%d messages, %d packets lost, %+v", messages, lost, c)
	}
}

// TestRoCEStrayOnIdleConnection: a packet far ahead, which no node of the connection has sent, is captured before a pause
// of the connection. It is dropped, all messages are reported, and no packet counts as lost.
func TestRoCEStrayOnIdleConnection(t *testing.T) {
	w := newRoceWire(t)
	w.messages(3)
	w.answer(1, w.ends[0].psn.Add(-1), ibta.AckUnlimited)
	w.packet(0, ibta.Packet{BTH: ibta.BTH{OpCode: ibta.SendOnly, PSN: w.ends[0].psn.Add(1 << 22)}, Payload: []byte("stray")})
	w.messages(3)
	w.answer(1, w.ends[0].psn.Add(-1), ibta.AckUnlimited)
	if messages, lost, c := roceOutcome(w.list, 15*time.Second); messages != 6 || lost != 0 || c.Outside != 1 {
		t.Errorf("%d messages, %d packets lost, %+v", messages, lost, c)
	}
}

// TestRoCEPauseWithoutAcks: a capture has had no acknowledgements for long before a pause of the capture in which more
// packets were sent than can be under way. All messages behind the pause are reported, and the packets of the pause count
// as lost.
func TestRoCEPauseWithoutAcks(t *testing.T) {
	w := newRoceWire(t)
	w.messages(1)
	w.answer(1, w.ends[0].psn.Add(-1), ibta.AckUnlimited)
	w.messages(17000)
	w.ends[0].psn = w.ends[0].psn.Add(20000)
	w.messages(1000)
	if messages, lost, c := roceOutcome(w.list, 10*time.Millisecond); messages != 18001 || lost != 20000 || c.Outside != 0 {
		t.Errorf("%d messages, %d packets lost, %+v", messages, lost, c)
	}
}

// TestRoCEAckBeforeRepeated: packets that are sent again do not count as lost if they are captured just after they were
// acknowledged.
func TestRoCEAckBeforeRepeated(t *testing.T) {
	w := newRoceWire(t)
	w.messages(3)
	first, lost, last := w.list[0], w.list[1], w.list[2]
	psn := w.ends[0].psn
	w.list = []capture.Packet{first, last}
	w.answer(1, psn.Add(-2), ibta.NakSequence)
	w.answer(1, psn.Add(-1), ibta.AckUnlimited)
	w.list = append(w.list, lost, last)
	if messages, lost, c := roceOutcome(w.list, 2*time.Microsecond); messages != 3 || lost != 0 {
		t.Errorf("%d messages, %d packets lost, %+v", messages, lost, c)
	}
}

// TestRoCEAnswerBehindGap: a message behind a lost packet is reported before the message that answers it.
func TestRoCEAnswerBehindGap(t *testing.T) {
	w := newRoceWire(t)
	w.messages(3)
	w.list = slices.Delete(w.list, 1, 2)
	w.answer(1, w.ends[0].psn.Add(-1), ibta.AckUnlimited)
	w.message(1, immediate("answer"), 4096)
	w.answer(0, w.ends[1].psn.Add(-1), ibta.AckUnlimited)
	var from []string
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		if r.Kind == capture.Message {
			from = append(from, string(r.Payload))
		}
	})
	for i, p := range w.list {
		d.Packet(time.Unix(1, int64(i)*1000), p.Link, p.Data)
	}
	if d.Close(); !slices.Equal(from, []string{"payload", "payload", "answer"}) {
		t.Errorf("%q", from)
	}
}
