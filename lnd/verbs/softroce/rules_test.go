package softroce

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// lone is one end of a connection; the test plays its peer.
type lone struct {
	t   *testing.T
	rc  *rc
	now time.Duration
	out rcOutput
}

func newLone(t *testing.T, change func(*rcConfig)) *lone {
	return &lone{t: t, rc: newPair(t, 1, weather{}, change).ends[0]}
}

// step gives the end an input, and returns what the end sends: the PSNs of its requests, relative
// to the first PSN that it sends, and its answer, whose PSN is relative to the first one that it
// expects.
func (l *lone) step(in rcInput) (requests []int, answer string) {
	l.t.Helper()
	l.now += time.Microsecond
	l.out.Reset()
	l.rc.Step(l.now, in, &l.out)
	if err := l.rc.invariants(); err != nil {
		l.t.Fatal(err)
	}
	for i := range l.out.Packets {
		p := &l.out.Packets[i]
		if p.OpCode != ibta.Acknowledge {
			requests = append(requests, p.PSN.Sub(l.rc.cfg.SendPSN))
			continue
		}
		if answer != "" {
			l.t.Fatal("two answers")
		}
		answer = p.AETH.Syndrome.String() + " " + string(rune('0'+p.PSN.Sub(l.rc.cfg.RecvPSN)))
	}
	return requests, answer
}

// answered gives the end an answer of the peer.
func (l *lone) answered(s ibta.Syndrome, n int) []int {
	l.t.Helper()
	requests, _ := l.step(rcInput{Packets: []ibta.Packet{{
		BTH: ibta.BTH{OpCode: ibta.Acknowledge, PSN: l.rc.cfg.SendPSN.Add(n)}, AETH: ibta.AETH{Syndrome: s},
	}}})
	return requests
}

// asks makes the peer send empty messages, and returns the end's answer. list has their PSNs, relative to the first
// PSN that the end expects.
func (l *lone) asks(list ...int) string {
	l.t.Helper()
	var packets []ibta.Packet
	for _, n := range list {
		packets = append(packets, ibta.Packet{BTH: ibta.BTH{OpCode: ibta.SendOnly, AckReq: true, PSN: l.rc.cfg.RecvPSN.Add(n)}})
	}
	_, answer := l.step(rcInput{Packets: packets})
	return answer
}

func (l *lone) want(what string, got, want []int) {
	l.t.Helper()
	if !slices.Equal(got, want) {
		l.t.Errorf("%s: %v is sent, want %v", what, got, want)
	}
}

// TestOneNak: the responder sends one NAK for a missing packet. It sends none if the missing packet
// arrives in the same step and the packets that follow it arrive once more after it.
func TestOneNak(t *testing.T) {
	l := newLone(t, nil)
	for _, tt := range []struct {
		packets []int
		want    string
	}{
		{[]int{0}, "ACK 0"},
		{[]int{2}, "NAK sequence error 1"},
		{[]int{3}, ""},
		{[]int{4, 5}, ""},
		{[]int{0}, "ACK 0"}, // packet 0 came again, and is acknowledged again
		{[]int{1}, "ACK 1"},
		{[]int{3}, "NAK sequence error 2"},
		{[]int{2, 3, 4}, "ACK 4"},
		{[]int{6, 5}, "NAK sequence error 6"}, // packet 6 came before 5, and was dropped
		{[]int{7, 0}, "ACK 5"},
		{[]int{7, 6, 7}, "ACK 7"},
		{[]int{9, 8, 10}, "NAK sequence error 9"},
	} {
		if got := l.asks(tt.packets...); got != tt.want {
			t.Errorf("%v: answer %q, want %q", tt.packets, got, tt.want)
		}
	}
	if c := l.rc.counters; c.Duplicates != 2 || c.Ahead != 10 {
		t.Errorf("%+v", c)
	}
}

// TestOneRetry: the requester goes back once for a missing packet, however many answers
// report it, and halves its window once for all packets in flight.
func TestOneRetry(t *testing.T) {
	l := newLone(t, nil)
	var wrs []verbs.SendWR
	for i := range 20 {
		wrs = append(wrs, send(uint64(i), nil))
	}
	sent, _ := l.step(rcInput{Post: wrs})
	if len(sent) != firstWindow {
		t.Fatalf("%d packets", len(sent))
	}
	l.want("packet 3 is missing", l.answered(ibta.NakSequence, 3), []int{3, 4, 5, 6, 7, 8, 9, 10})
	l.want("and again", l.answered(ibta.NakSequence, 3), nil)
	l.want("packet 5 is missing too", l.answered(ibta.NakSequence, 5), []int{5, 6, 7, 8, 9, 10, 11, 12})
	if w := l.rc.req.window; w != firstWindow/2 {
		t.Errorf("window of %d packets", w)
	}
	l.want("an old answer", l.answered(ibta.AckUnlimited, 2), nil)
	l.want("an answer to what was not sent", l.answered(ibta.AckUnlimited, 16), nil)
	l.want("a NAK of what was not sent", l.answered(ibta.NakAccess, 16), nil)
	if c := l.rc.counters; c.Ghosts != 3 || c.Naks != 2 || l.rc.failed != 0 {
		t.Errorf("%+v", c)
	}
}

// TestLateAnswer: packets that are about to be retransmitted are not sent again if their
// answer arrives.
func TestLateAnswer(t *testing.T) {
	l := newLone(t, func(c *rcConfig) { c.MaxWindow = 4 })
	l.step(rcInput{Post: []verbs.SendWR{send(0, nil), send(1, nil), send(2, nil), send(3, nil), send(4, nil), send(5, nil)}})
	l.now += l.rc.cfg.AckTimeout
	sent, _ := l.step(rcInput{})
	l.want("after the timeout", sent, []int{0, 1})
	l.want("all had come", l.answered(ibta.AckUnlimited, 3), []int{4, 5})
	l.want("done", l.answered(ibta.AckUnlimited, 5), nil)
	if l.rc.sends.len() != 0 {
		t.Errorf("%d work requests left", l.rc.sends.len())
	}
}

// TestProbeAnswer: a requester whose probe is answered by an ACK of the oldest packet alone
// retransmits all that followed it, without waiting.
func TestProbeAnswer(t *testing.T) {
	l := newLone(t, nil)
	l.step(rcInput{Post: []verbs.SendWR{send(0, nil), send(1, nil), send(2, nil)}})
	l.now += firstProbe
	sent, _ := l.step(rcInput{})
	l.want("probe", sent, []int{0})
	l.want("it has come", l.answered(ibta.AckUnlimited, 0), []int{1, 2})
	l.want("an ACK that was late", l.answered(ibta.AckUnlimited, 1), nil)
	l.want("done", l.answered(ibta.AckUnlimited, 2), nil)
	if c := l.rc.counters; c.Probes != 1 || c.Resent != 2 || c.Timeouts != 0 {
		t.Errorf("%+v", c)
	}
}

// TestGapClosed: if the missing packet arrives in the same step, the NAK names the packet that
// came too early, because the responder has dropped it.
func TestGapClosed(t *testing.T) {
	l := newLone(t, nil)
	_, answer := l.step(rcInput{Packets: []ibta.Packet{
		{BTH: ibta.BTH{OpCode: ibta.SendOnly, AckReq: true, PSN: l.rc.cfg.RecvPSN.Add(1)}},
		{BTH: ibta.BTH{OpCode: ibta.SendOnly, PSN: l.rc.cfg.RecvPSN}},
	}})
	if answer != "NAK sequence error 1" {
		t.Errorf("answer %q", answer)
	}
}

// TestMalformed: each request that breaks one of the rules of rocev2 §6 is refused.
func TestMalformed(t *testing.T) {
	type step struct {
		op     ibta.OpCode
		bytes  int
		length uint32 // length in the RETH
	}
	const mtu = testMTU
	tests := []struct {
		name  string
		steps []step
		nak   ibta.Syndrome // expected NAK; 0: no NAK
	}{
		{"SEND in three packets", []step{{ibta.SendFirst, mtu, 0}, {ibta.SendMiddle, mtu, 0}, {ibta.SendLast, 1, 0}}, 0},
		{"WRITE in three packets", []step{{ibta.WriteFirst, mtu, 2*mtu + 1}, {ibta.WriteMiddle, mtu, 0}, {ibta.WriteLast, 1, 0}}, 0},
		{"MIDDLE without FIRST", []step{{ibta.SendMiddle, mtu, 0}}, ibta.NakInvalid},
		{"LAST without FIRST", []step{{ibta.WriteLast, 1, 0}}, ibta.NakInvalid},
		{"FIRST inside a message", []step{{ibta.SendFirst, mtu, 0}, {ibta.SendFirst, mtu, 0}}, ibta.NakInvalid},
		{"ONLY inside a message", []step{{ibta.WriteFirst, mtu, 2 * mtu}, {ibta.SendOnly, 1, 0}}, ibta.NakInvalid},
		{"WRITE inside a SEND", []step{{ibta.SendFirst, mtu, 0}, {ibta.WriteMiddle, mtu, 0}}, ibta.NakInvalid},
		{"short FIRST", []step{{ibta.SendFirst, mtu - 1, 0}}, ibta.NakInvalid},
		{"short MIDDLE", []step{{ibta.SendFirst, mtu, 0}, {ibta.SendMiddle, mtu - 1, 0}}, ibta.NakInvalid},
		{"empty LAST", []step{{ibta.SendFirst, mtu, 0}, {ibta.SendLast, 0, 0}}, ibta.NakInvalid},
		{"packet above the MTU", []step{{ibta.SendOnly, mtu + 1, 0}}, ibta.NakInvalid},
		{"WRITE above the MTU", []step{{ibta.WriteOnly, mtu + 1, mtu + 1}}, ibta.NakInvalid},
		{"longest SEND", []step{{ibta.SendFirst, mtu, 0}, {ibta.SendMiddle, mtu, 0}, {ibta.SendLast, 952, 0}}, 0},
		{"SEND longer than allowed", []step{{ibta.SendFirst, mtu, 0}, {ibta.SendMiddle, mtu, 0}, {ibta.SendLast, 953, 0}}, ibta.NakInvalid},
		{"WRITE longer than it says", []step{{ibta.WriteOnly, 9, 8}}, ibta.NakInvalid},
		{"WRITE shorter than it says", []step{{ibta.WriteOnly, 7, 8}}, ibta.NakInvalid},
		{"WRITE that ends early", []step{{ibta.WriteFirst, mtu, 2 * mtu}, {ibta.WriteLast, mtu - 1, 0}}, ibta.NakInvalid},
		{"WRITE that goes on", []step{{ibta.WriteFirst, mtu, 2 * mtu}, {ibta.WriteMiddle, mtu, 0}}, ibta.NakInvalid},
		{"WRITE of 2 GiB and a byte", []step{{ibta.WriteFirst, mtu, 1<<31 + 1}}, ibta.NakInvalid},
		{"WRITE of 2 GiB", []step{{ibta.WriteFirst, mtu, 1 << 31}}, ibta.NakAccess},
		{"immediate data", []step{{ibta.SendOnlyImm, 1, 0}}, ibta.NakInvalid},
		{"empty SEND", []step{{ibta.SendOnly, 0, 0}}, 0},
		{"empty WRITE to anywhere", []step{{ibta.WriteOnly, 0, 0}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t, 1, weather{}, func(c *rcConfig) { c.MaxMessage = 3000 })
			l := &lone{t: t, rc: p.ends[0]}
			answer := ""
			for i, s := range tt.steps {
				q := ibta.Packet{BTH: ibta.BTH{OpCode: s.op, PSN: l.rc.cfg.RecvPSN.Add(i)}, Payload: make([]byte, s.bytes)}
				q.RETH = ibta.RETH{Address: p.memory[0].base, RKey: p.memory[0].key, Length: s.length}
				if s.bytes == 0 {
					q.RETH.RKey = 0
				}
				_, answer = l.step(rcInput{Packets: []ibta.Packet{q}})
			}
			want := ""
			if tt.nak != 0 {
				want = tt.nak.String() + " " + string(rune('0'+len(tt.steps)-1))
			}
			if answer != want || (l.rc.failed != 0) != (tt.nak != 0) || tt.nak != 0 && p.pools[0].taken != 0 {
				t.Errorf("answer %q, want %q; %v, %d buffers", answer, want, l.rc.failed, p.pools[0].taken)
			}
		})
	}
}

// TestNakAfterTimeout: a second NAK for the same packet is obeyed if there was a timeout since
// the first (rocev2 §6.3), because it means that the packets sent after the first NAK were
// lost.
func TestNakAfterTimeout(t *testing.T) {
	p := newPair(t, 1, weather{delay: time.Millisecond}, nil)
	p.link.drop = func(from int, _ *ibta.Packet) bool { return from == 0 }
	p.post(0, send(1, make([]byte, 4096)))
	nak := ibta.Packet{
		BTH: ibta.BTH{OpCode: ibta.Acknowledge, PKey: ibta.DefaultPKey, PSN: p.ends[0].req.unacked}, AETH: ibta.AETH{Syndrome: ibta.NakSequence},
	}
	for _, want := range []uint64{1, 1, 2} {
		if want == 2 {
			p.run(p.now + p.ends[0].cfg.AckTimeout + time.Millisecond)
		}
		if err := p.step(0, rcInput{Packets: []ibta.Packet{nak}}); err != nil || p.ends[0].counters.Naks != want {
			t.Errorf("%+v, want %d, %v", p.ends[0].counters, want, err)
		}
	}
}

// TestGather: the first 16 messages of one packet leave at once. Further such messages
// leave together: with the next ACK, or when 16 of them wait. Longer messages and WRITEs do not
// wait, nor do small messages that follow one of these.
func TestGather(t *testing.T) {
	small := send(0, make([]byte, testMTU))
	long := send(0, make([]byte, testMTU+1))
	for _, tt := range []struct {
		name  string
		first verbs.SendWR
		next  verbs.SendWR
		waits bool
	}{
		{"small behind small", small, small, true},
		{"long behind small", small, long, false},
		{"small behind long", long, small, false},
		{"a WRITE", small, verbs.SendWR{Op: verbs.Write}, false},
		{"small behind WRITEs", verbs.SendWR{Op: verbs.Write}, small, false},
	} {
		l := newLone(t, nil)
		l.rc.req.window, l.rc.req.srtt = 64, 20*time.Microsecond
		for i := range gatherBehind {
			if sent, _ := l.step(rcInput{Post: []verbs.SendWR{tt.first}}); len(sent) == 0 {
				t.Errorf("%s: message %d waits", tt.name, i)
			}
		}
		if sent, _ := l.step(rcInput{Post: []verbs.SendWR{tt.next}}); len(sent) == 0 != tt.waits {
			t.Errorf("%s: sent %v", tt.name, sent)
		}
	}
}

// TestGathered checks which events make the messages leave that are held back for one burst.
func TestGathered(t *testing.T) {
	var all []int
	for i := range 2 * gatherBehind {
		all = append(all, i)
	}
	waiting := func(n int) *lone {
		l := newLone(t, nil)
		l.rc.req.window, l.rc.req.srtt = 64, 20*time.Microsecond
		for i := range gatherBehind + n {
			if sent, _ := l.step(rcInput{Post: []verbs.SendWR{send(uint64(i), nil)}}); i >= gatherBehind && len(sent) > 0 {
				t.Fatalf("message %d: %v", i, sent)
			}
		}
		return l
	}
	l := waiting(mostGathered - 1)
	sent, _ := l.step(rcInput{Post: []verbs.SendWR{send(0, nil)}})
	l.want("enough", sent, all[gatherBehind:])

	l = waiting(3)
	l.want("an ACK", l.answered(ibta.AckUnlimited, 0), all[gatherBehind:gatherBehind+3])
	l.want("all acknowledged", l.answered(ibta.AckUnlimited, gatherBehind+2), nil)
	sent, _ = l.step(rcInput{Post: []verbs.SendWR{send(0, nil)}})
	l.want("alone again", sent, []int{gatherBehind + 3})

	l = waiting(3)
	l.rc.req.srtt = maxGatherTrip
	sent, _ = l.step(rcInput{Post: []verbs.SendWR{send(0, nil)}})
	l.want("a peer that is far away", sent, all[gatherBehind:gatherBehind+4])

	l = waiting(3)
	l.now += l.rc.req.probeAfter()
	sent, _ = l.step(rcInput{})
	l.want("a peer that does not answer", sent, append([]int{0}, all[gatherBehind:gatherBehind+3]...))
	sent, _ = l.step(rcInput{Post: []verbs.SendWR{send(0, nil)}})
	l.want("a peer that has not answered a probe", sent, []int{gatherBehind + 3})
	l.want("an answer to the probe", l.answered(ibta.AckUnlimited, 1), nil)
	sent, _ = l.step(rcInput{Post: []verbs.SendWR{send(0, nil)}})
	l.want("a peer that has answered a probe", sent, nil)

	l = waiting(3)
	l.now += l.rc.cfg.AckTimeout
	sent, _ = l.step(rcInput{})
	l.want("a timeout", sent, all[:gatherBehind+3])
	sent, _ = l.step(rcInput{Post: []verbs.SendWR{send(0, nil)}})
	l.want("a peer that has not answered since a timeout", sent, []int{gatherBehind + 3})

	l = waiting(3)
	l.want("a NAK", l.answered(ibta.NakSequence, 2), all[2:gatherBehind+3])

	l = waiting(3)
	l.out.Reset()
	l.rc.Step(l.now, rcInput{Fail: verbs.Flushed}, &l.out)
	if n := len(l.out.Completions); n != gatherBehind+3 {
		t.Errorf("%d completions of a connection that ended", n)
	}
}
