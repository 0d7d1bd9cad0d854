package softroce

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/machine"
)

// regions is memory that peers may write, with one key.
type regions struct {
	key     ibta.RKey
	base    uint64
	bytes   []byte
	revoked bool
}

func (m *regions) Check(key ibta.RKey, address uint64, length uint32) bool {
	at := address - m.base
	return key == m.key && !m.revoked && at <= uint64(len(m.bytes)) && uint64(length) <= uint64(len(m.bytes))-at
}

func (m *regions) Write(key ibta.RKey, address uint64, b []byte) bool {
	if !m.Check(key, address, uint32(len(b))) {
		return false
	}
	copy(m.bytes[address-m.base:], b)
	return true
}

// buffers is a pool of receive buffers.
type buffers struct {
	size, free, taken int
}

func (p *buffers) Take() (verbs.Buffer, bool) {
	if p.free == 0 {
		return verbs.Buffer{}, false
	}
	p.free--
	p.taken++
	return verbs.Buffer{Bytes: make([]byte, p.size)}, true
}

func (p *buffers) Return(verbs.Buffer) { p.free++; p.taken-- }

// flight is a packet that is under way.
type flight struct {
	at     time.Duration
	to     int
	packet ibta.Packet
}

// weather has the delays and faults of a link.
type weather struct {
	delay, jitter   time.Duration
	loss, duplicate float64
	// if not nil, reports whether to drop a packet, in addition to random loss
	drop func(from int, p *ibta.Packet) bool
}

// pair is two ends of a connection in virtual time.
type pair struct {
	t      testing.TB
	now    time.Duration
	ends   [2]*rc
	wakes  [2]time.Duration
	memory [2]*regions
	pools  [2]*buffers
	link   weather
	rng    *rand.Rand
	air    []flight
	done   [2][]verbs.Completion // completions of work requests, by end
	got    [2][][]byte           // messages received, by end
	failed [2]verbs.Status
	sent   [2]int // number of packets sent, by end
	trace  []string
}

const testMTU = 1024

func newPair(t testing.TB, seed uint64, l weather, change func(*rcConfig)) *pair {
	p := &pair{t: t, link: l, rng: rand.New(rand.NewPCG(seed, 1))}
	for i := range p.ends {
		p.memory[i] = &regions{key: ibta.RKey(0x100 + i), base: 1 << 40, bytes: make([]byte, 1<<20)}
		p.pools[i] = &buffers{size: 4096, free: 64}
		cfg := rcConfig{
			ID: uint64(i), QPN: ibta.QPN(i + 2), DestQP: ibta.QPN(3 - i), MTU: testMTU, SendPSN: ibta.PSN(0xFFFFF0 + i), RecvPSN: ibta.PSN(0xFFFFF1 - i),
			MaxSends: 64, MaxWindow: 128, MaxMessage: 4096, AckTimeout: 500 * time.Millisecond, RetryCount: 5, RNRRetryCount: 6,
			Memory: p.memory[i], Pool: p.pools[i],
		}
		if change != nil {
			change(&cfg)
		}
		p.ends[i], p.wakes[i] = newRC(cfg), 1<<62
	}
	return p
}

// step steps an end and carries out its output.
func (p *pair) step(i int, in rcInput) error {
	var out rcOutput
	wake := p.ends[i].Step(p.now, in, &out)
	if wake <= p.now {
		p.t.Fatalf("wake %v at %v", wake, p.now)
	}
	if c := p.ends[i]; wake == machine.Never && !in.Later && c.failed == verbs.Success && c.sends.len() > 0 {
		p.t.Fatalf("at %v end %d waits for nothing, with %d work requests: %+v", p.now, i, c.sends.len(), c.req)
	}
	p.wakes[i] = wake
	for _, c := range out.Completions {
		if c.Op == verbs.Receive {
			p.got[i] = append(p.got[i], bytes.Clone(c.Buffer.Bytes))
			p.pools[i].Return(c.Buffer)
		} else {
			p.done[i] = append(p.done[i], c)
		}
	}
	if out.Failed != verbs.Success {
		p.failed[i] = out.Failed
	}
	for k := range out.Packets {
		o := &out.Packets[k]
		q := o.Packet
		q.Payload = slices.Concat(out.Payload(o)...)
		p.send(i, q)
	}
	if err := p.ends[i].invariants(); err != nil {
		p.t.Fatal(err)
	}
	return out.Err
}

// send encodes a packet, parses the bytes, and puts the result on the link.
func (p *pair) send(from int, q ibta.Packet) {
	p.sent[from]++
	p.trace = append(p.trace, fmt.Sprintf("%v %d %v %#x ask=%v %v %d bytes", p.now, from, q.OpCode, uint32(q.PSN), q.AckReq, q.AETH.Syndrome, len(q.Payload)))
	parsed, err := ibta.ParsePacket(append(q.AppendTo(nil), "ICRC"...))
	if err != nil {
		p.t.Fatal(err)
	}
	if p.link.drop != nil && p.link.drop(from, &parsed) || p.rng.Float64() < p.link.loss {
		return
	}
	n := 1
	if p.rng.Float64() < p.link.duplicate {
		n = 2
	}
	for range n {
		at := p.now + p.link.delay
		if p.link.jitter > 0 {
			at += time.Duration(p.rng.Int64N(int64(p.link.jitter)))
		}
		i := len(p.air)
		for i > 0 && p.air[i-1].at > at {
			i--
		}
		p.air = slices.Insert(p.air, i, flight{at, 1 - from, parsed})
	}
}

// post posts work requests at end i.
func (p *pair) post(i int, wrs ...verbs.SendWR) {
	p.t.Helper()
	if err := p.step(i, rcInput{Post: wrs}); err != nil {
		p.t.Fatal(err)
	}
}

// run advances time until nothing is left to do, or until the end.
func (p *pair) run(until time.Duration) {
	for {
		next := min(p.wakes[0], p.wakes[1])
		if len(p.air) > 0 {
			next = min(next, p.air[0].at)
		}
		if next > until {
			return
		}
		p.now = max(p.now, next)
		var in [2]rcInput
		var due [2]bool
		for len(p.air) > 0 && p.air[0].at <= p.now {
			f := p.air[0]
			p.air = p.air[1:]
			in[f.to].Packets = append(in[f.to].Packets, f.packet)
			due[f.to] = true
		}
		for i := range in {
			if due[i] || p.wakes[i] <= p.now {
				_ = p.step(i, in[i])
			}
		}
	}
}

func send(id uint64, b []byte) verbs.SendWR {
	return verbs.SendWR{ID: id, Op: verbs.Send, Signaled: true, Pieces: []verbs.SGE{{Bytes: b}}}
}

func (p *pair) write(from int, id uint64, at int, b []byte) verbs.SendWR {
	m := p.memory[1-from]
	return verbs.SendWR{
		ID: id, Op: verbs.Write, RKey: uint32(m.key), Remote: verbs.Frag{Address: m.base + uint64(at), Length: uint32(len(b))},
		Pieces: []verbs.SGE{{Bytes: b[:len(b)/3]}, {Bytes: b[len(b)/3:]}},
	}
}

func (p *pair) explain() {
	p.t.Helper()
	if p.t.Failed() {
		for _, line := range p.trace[:min(len(p.trace), 200)] {
			p.t.Log(line)
		}
	}
}

// invariants reports an invariant that does not hold, for tests.
func (c *rc) invariants() error {
	r, end := &c.req, c.sends.end
	if r.next.Sub(r.unacked) < 0 || r.high.Sub(r.next) < 0 || end.Sub(r.high) < 0 {
		return fmt.Errorf("unacked %#x, next %#x, high %#x, end %#x", r.unacked, r.next, r.high, end)
	}
	if r.window < 1 || r.window > r.maxWindow {
		return fmt.Errorf("window of %d packets", r.window)
	}
	if n := r.next.Sub(r.unacked); c.failed == verbs.Success && (r.charged > n || r.charged < n && !r.lapsed) || c.failed != verbs.Success && r.charged != 0 {
		return fmt.Errorf("%d packets on the way, %d of the allowance", n, r.charged)
	}
	if c.sends.len() > c.cfg.MaxSends {
		return fmt.Errorf("%d work requests", c.sends.len())
	}
	if c.failed == verbs.Success && (c.sends.len() == 0) != (r.unacked == end) {
		return fmt.Errorf("%d work requests, unacked %#x, end %#x", c.sends.len(), r.unacked, end)
	}
	return nil
}
