package softroce

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// traffic makes both ends send messages of all lengths and write bulk, and checks that all of
// it arrives whole, once and in order.
func traffic(t *testing.T, p *pair, rounds int) {
	t.Helper()
	defer p.explain()
	var want [2][][]byte
	var bulk [2][]byte
	id := uint64(0)
	var ids [2][]uint64
	for round := range rounds {
		for i := range p.ends {
			n := []int{0, 1, 3, 1023, 1024, 1025, 4096}[p.rng.IntN(7)]
			b := make([]byte, n)
			for k := range b {
				b[k] = byte(p.rng.Uint32())
			}
			bulk[i] = make([]byte, p.rng.IntN(100<<10)+1)
			for k := 0; k+8 <= len(bulk[i]); k += 8 {
				binary.LittleEndian.PutUint64(bulk[i][k:], p.rng.Uint64())
			}
			want[1-i] = append(want[1-i], b)
			p.post(i, p.write(i, id, 0, bulk[i]), send(id+1, b))
			ids[i] = append(ids[i], id+1)
			id += 2
		}
		p.run(p.now + time.Minute)
		for i := range p.ends {
			if !bytes.Equal(p.memory[1-i].bytes[:len(bulk[i])], bulk[i]) {
				t.Fatalf("round %d: what %d wrote is not there", round, i)
			}
		}
	}
	for i := range p.ends {
		if len(p.got[i]) != len(want[i]) || !slices.EqualFunc(p.got[i], want[i], bytes.Equal) {
			t.Fatalf("end %d got %d messages, want %d", i, len(p.got[i]), len(want[i]))
		}
		var done []uint64
		for _, c := range p.done[i] {
			if c.Status != verbs.Success {
				t.Fatalf("end %d: request %d: %v", i, c.ID, c.Status)
			}
			done = append(done, c.ID)
		}
		if !slices.Equal(done, ids[i]) {
			t.Fatalf("end %d: completions %v, want %v", i, done, ids[i])
		}
		if p.failed[i] != 0 || p.pools[i].taken != 0 || p.ends[i].sends.len() != 0 {
			t.Errorf("end %d: %v, %d buffers, %d requests left", i, p.failed[i], p.pools[i].taken, p.ends[i].sends.len())
		}
	}
}

// TestTraffic runs traffic over a network without faults, and over several with faults.
func TestTraffic(t *testing.T) {
	tests := []struct {
		name string
		link weather
	}{
		{"sound", weather{delay: 50 * time.Microsecond}},
		{"loss of 1 %", weather{delay: 50 * time.Microsecond, loss: 0.01}},
		{"loss of 10 %", weather{delay: 50 * time.Microsecond, loss: 0.1}},
		{"duplication", weather{delay: 50 * time.Microsecond, duplicate: 0.2}},
		{"reordering", weather{delay: 50 * time.Microsecond, jitter: 200 * time.Microsecond}},
		{"all of it", weather{delay: 200 * time.Microsecond, jitter: 100 * time.Microsecond, loss: 0.05, duplicate: 0.05}},
		{"far away", weather{delay: 50 * time.Millisecond, loss: 0.02}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(4) {
				p := newPair(t, seed, tt.link, nil)
				traffic(t, p, 6)
				c := p.ends[0].counters
				if tt.name == "sound" && (c.Resent+c.Probes+c.Timeouts+c.Duplicates+c.Ahead+c.Ghosts != 0) {
					t.Errorf("%+v", c)
				}
				if tt.link.loss >= 0.05 && c.Resent == 0 {
					t.Errorf("nothing was sent again: %+v", c)
				}
			}
		})
	}
}

// TestDeterministic checks that equal seeds give equal packets.
func TestDeterministic(t *testing.T) {
	var traces [2]string
	for i := range traces {
		p := newPair(t, 7, weather{delay: time.Millisecond, jitter: time.Millisecond, loss: 0.1, duplicate: 0.1}, nil)
		traffic(t, p, 3)
		traces[i] = fmt.Sprint(p.trace)
	}
	if traces[0] != traces[1] {
		t.Error("two runs differ")
	}
}

// TestTailLoss: the loss of the last packet, or of its acknowledgement, costs a few
// round trips and no retry.
func TestTailLoss(t *testing.T) {
	for _, lost := range []string{"request", "answer"} {
		t.Run(lost, func(t *testing.T) {
			var armed bool
			p := newPair(t, 1, weather{delay: 50 * time.Microsecond}, nil)
			defer p.explain()
			for i := range 20 { // enough messages to measure the round-trip time
				p.post(0, send(uint64(i), []byte("warm")))
				p.run(p.now + time.Second)
			}
			p.link.drop = func(from int, q *ibta.Packet) bool {
				hit := armed && (from == 0) == (lost == "request")
				armed = armed && !hit
				return hit
			}
			armed = true
			begin := p.now
			p.post(0, send(99, []byte("tail")))
			p.run(p.now + 10*time.Millisecond)
			c := p.ends[0].counters
			if len(p.done[0]) != 21 || c.Probes != 1 || c.Timeouts != 0 {
				t.Errorf("%d done, %+v", len(p.done[0]), c)
			}
			if took := p.now - begin; took > 5*time.Millisecond {
				t.Errorf("took %v", took)
			}
			if len(p.got[1]) != 21 {
				t.Errorf("%d messages", len(p.got[1]))
			}
		})
	}
}

// TestPeerGone: a requester that gets no answers gives up after its number of retries. A probe is not counted as
// a retry.
func TestPeerGone(t *testing.T) {
	p := newPair(t, 1, weather{delay: time.Millisecond, drop: func(from int, _ *ibta.Packet) bool { return from == 0 }}, nil)
	defer p.explain()
	p.post(0, p.write(0, 1, 0, make([]byte, 5000)), send(2, []byte("x")), send(3, nil))
	p.run(time.Hour)
	want := []verbs.Status{verbs.RetryExceeded, verbs.Flushed, verbs.Flushed}
	var got []verbs.Status
	for _, c := range p.done[0] {
		got = append(got, c.Status)
	}
	if !slices.Equal(got, want) || p.failed[0] != verbs.RetryExceeded || p.now != 3*time.Second {
		t.Errorf("%v, %v after %v", got, p.failed[0], p.now)
	}
	if c := p.ends[0].counters; c.Timeouts != 6 || c.Probes < 5 {
		t.Errorf("%+v", c)
	}
	p.post(0, send(4, nil))
	if last := p.done[0][len(p.done[0])-1]; last.ID != 4 || last.Status != verbs.Flushed {
		t.Errorf("%+v", last)
	}
}

// TestNoBuffer: a SEND without a receive buffer is retransmitted until there is one, and no NAK
// stops its sender.
func TestNoBuffer(t *testing.T) {
	p := newPair(t, 1, weather{delay: 100 * time.Microsecond}, nil)
	defer p.explain()
	p.pools[1].free = 0
	p.post(0, send(1, make([]byte, 3000)), send(2, []byte("next")))
	p.run(200 * time.Millisecond)
	if len(p.got[1]) != 0 || p.ends[1].counters.NoBuffer < 2 || p.ends[0].counters.RNRNaks != 0 {
		t.Fatalf("%d messages, %+v", len(p.got[1]), p.ends[1].counters)
	}
	p.pools[1].free = 2
	p.run(time.Minute)
	if len(p.got[1]) != 2 || len(p.got[1][0]) != 3000 || p.failed[0] != 0 {
		t.Errorf("%d messages, %v", len(p.got[1]), p.failed[0])
	}
}

// TestWindow: no more packets are in flight than the window allows; it grows
// without loss, up to its bound, and a loss halves it.
func TestWindow(t *testing.T) {
	p := newPair(t, 1, weather{delay: time.Millisecond}, func(c *rcConfig) { c.MaxWindow = 64 })
	defer p.explain()
	big := make([]byte, 1<<20)
	p.post(0, p.write(0, 1, 0, big))
	if p.sent[0] != firstWindow {
		t.Errorf("%d packets at once", p.sent[0])
	}
	for range 4 {
		p.post(0, p.write(0, 1, 0, big))
	}
	p.run(p.now + time.Minute)
	if w := p.ends[0].req.window; w != 64 {
		t.Errorf("window of %d packets", w)
	}
	lost := false
	p.link.drop = func(_ int, q *ibta.Packet) bool {
		hit := !lost && q.OpCode == ibta.WriteMiddle
		lost = lost || hit
		return hit
	}
	p.post(0, p.write(0, 1, 0, big[:100<<10]))
	p.run(p.now + 3*time.Millisecond)
	if w := p.ends[0].req.window; w > 34 || p.ends[0].counters.Naks != 1 {
		t.Errorf("window of %d packets after a loss, %+v", w, p.ends[0].counters)
	}
	p.run(p.now + time.Minute)
	if p.ends[0].sends.len() != 0 {
		t.Error("not done")
	}
}

// still is the memory and the pool of a connection, and allocates nothing: Take always returns the
// same buffer.
type still struct{ regions }

func (s *still) Take() (verbs.Buffer, bool) { return verbs.Buffer{Bytes: s.bytes}, true }
func (s *still) Return(verbs.Buffer)        {}

// TestNoAllocation checks that messages and ACKs allocate nothing.
func TestNoAllocation(t *testing.T) {
	s := &still{regions{bytes: make([]byte, 4096)}}
	p := newPair(t, 1, weather{}, func(c *rcConfig) { c.Memory, c.Pool = s, s })
	wrs := []verbs.SendWR{{Op: verbs.Send, Signaled: true, Pieces: []verbs.SGE{{Bytes: make([]byte, 100)}, {Bytes: make([]byte, 24)}}}}
	var outs [2]rcOutput
	packets := make([]ibta.Packet, 1)
	data := make([]byte, 0, testMTU)
	messages := 0
	step := func(i int, in rcInput) *rcOutput {
		outs[i].Reset()
		p.ends[i].Step(p.now, in, &outs[i])
		p.now += time.Microsecond
		return &outs[i]
	}
	allocs := testing.AllocsPerRun(100, func() {
		out := step(0, rcInput{Post: wrs})
		data = data[:0]
		for _, b := range out.Payload(&out.Packets[0]) {
			data = append(data, b...)
		}
		packets[0] = out.Packets[0].Packet
		packets[0].Payload = data
		out = step(1, rcInput{Packets: packets})
		messages += len(out.Completions)
		packets[0] = out.Packets[0].Packet
		messages += len(step(0, rcInput{Packets: packets}).Completions)
	})
	if allocs != 0 || messages != 202 {
		t.Errorf("%v allocations, want none; %d completions", allocs, messages)
	}
}
