package softroce

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// TestFatalNak: a write outside of a region, or to a region that was deregistered, is
// refused, and both ends fail.
func TestFatalNak(t *testing.T) {
	tests := []struct {
		name   string
		wr     func(p *pair) verbs.SendWR
		status verbs.Status
	}{
		{"unknown key", func(p *pair) verbs.SendWR { w := p.write(0, 1, 0, make([]byte, 10)); w.RKey++; return w }, verbs.RemoteAccess},
		{"before the region", func(p *pair) verbs.SendWR { return p.write(0, 1, -1, make([]byte, 10)) }, verbs.RemoteAccess},
		{"over its end", func(p *pair) verbs.SendWR { return p.write(0, 1, 1<<20-9, make([]byte, 10)) }, verbs.RemoteAccess},
		{"taken back", func(p *pair) verbs.SendWR { p.memory[1].revoked = true; return p.write(0, 1, 0, make([]byte, 10)) }, verbs.RemoteAccess},
		{"message too long", func(p *pair) verbs.SendWR { return send(1, make([]byte, 4097)) }, verbs.RemoteInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t, 1, weather{delay: time.Millisecond}, nil)
			defer p.explain()
			before := bytes.Clone(p.memory[1].bytes)
			p.post(0, send(0, []byte("before")), tt.wr(p), send(2, []byte("behind")))
			p.run(time.Minute)
			var got []verbs.Status
			for _, c := range p.done[0] {
				got = append(got, c.Status)
			}
			if want := []verbs.Status{verbs.Success, tt.status, verbs.Flushed}; !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			if p.failed[0] != tt.status || p.failed[1] == 0 || len(p.got[1]) != 1 || p.pools[1].taken != 0 || p.ends[1].counters.Refused != 1 {
				t.Errorf("%v, %v, %d messages, %d buffers", p.failed[0], p.failed[1], len(p.got[1]), p.pools[1].taken)
			}
			if !bytes.Equal(before, p.memory[1].bytes) {
				t.Error("memory was written")
			}
		})
	}
}

// TestRNR: after an RNR NAK the requester waits as long as the peer says, and gives up after the
// retries.
func TestRNR(t *testing.T) {
	for naks, want := range map[int]verbs.Status{6: verbs.Success, 7: verbs.RNRRetryExceeded} {
		p := newPair(t, 1, weather{delay: time.Millisecond, drop: func(from int, _ *ibta.Packet) bool { return from == 0 }}, nil)
		psn := p.ends[0].req.next
		p.post(0, send(1, []byte("x")))
		for range naks {
			rnr := ibta.Packet{BTH: ibta.BTH{OpCode: ibta.Acknowledge, PSN: psn}, AETH: ibta.AETH{Syndrome: ibta.RNRNak | 20}}
			_ = p.step(0, rcInput{Packets: []ibta.Packet{rnr}})
			if wait := p.wakes[0] - p.now; want == 0 && wait != 10240*time.Microsecond {
				t.Fatalf("waits %v", wait)
			}
			p.run(p.now + 10240*time.Microsecond)
		}
		if p.failed[0] != want {
			t.Errorf("after %d NAKs: %v", naks, p.failed[0])
		}
	}
}

// TestFull: a list of work requests that would exceed MaxSends is refused as a whole.
func TestFull(t *testing.T) {
	p := newPair(t, 1, weather{delay: time.Millisecond}, func(c *rcConfig) { c.MaxSends = 3 })
	p.post(0, send(1, nil), send(2, nil))
	if err := p.step(0, rcInput{Post: []verbs.SendWR{send(3, nil), send(4, nil)}}); err != verbs.ErrFull {
		t.Errorf("error %v", err)
	}
	p.run(time.Minute)
	p.post(0, send(5, nil), send(6, nil), send(7, nil))
	p.run(time.Minute)
	if len(p.done[0]) != 5 || len(p.got[1]) != 5 {
		t.Errorf("%d done, %d messages", len(p.done[0]), len(p.got[1]))
	}
}

// TestHostile: whatever packets arrive, memory and buffers are intact.
func TestHostile(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	codes := []ibta.OpCode{
		ibta.SendFirst, ibta.SendMiddle, ibta.SendLast, ibta.SendOnly, ibta.WriteFirst, ibta.WriteMiddle, ibta.WriteLast, ibta.WriteOnly,
		ibta.Acknowledge, ibta.SendOnlyImm, ibta.UDSendOnly, ibta.CNP,
	}
	refused := 0
	for range 600 {
		p := newPair(t, rng.Uint64(), weather{delay: time.Millisecond}, nil)
		p.memory[0].bytes = p.memory[0].bytes[:100:100]
		p.post(0, send(1, []byte("x")), p.write(0, 2, 0, make([]byte, 3000)))
		for range 20 {
			end := p.ends[0]
			q := ibta.Packet{BTH: ibta.BTH{OpCode: codes[rng.IntN(len(codes))], PSN: end.resp.expected.Add(rng.IntN(5) / 4)}, Payload: make([]byte, []int{0, 1, 99, 1024, 1025}[rng.IntN(5)])}
			q.RETH = ibta.RETH{Address: p.memory[0].base + rng.Uint64N(120), RKey: p.memory[0].key, Length: rng.Uint32N(120)}
			if q.OpCode == ibta.Acknowledge {
				q.PSN, q.AETH.Syndrome = end.req.unacked.Add(rng.IntN(7)-3), ibta.Syndrome(rng.Uint32())
			}
			_ = p.step(0, rcInput{Packets: []ibta.Packet{q}})
		}
		if p.pools[0].taken > 1 {
			t.Fatalf("%d buffers taken", p.pools[0].taken)
		}
		_ = p.step(0, rcInput{Fail: verbs.Flushed})
		if p.pools[0].taken != 0 || len(p.done[0]) > 2 {
			t.Fatalf("%d buffers taken, completions %v", p.pools[0].taken, p.done[0])
		}
		refused += int(p.ends[0].counters.Refused)
	}
	if refused < 200 {
		t.Errorf("%d refused", refused)
	}
}
