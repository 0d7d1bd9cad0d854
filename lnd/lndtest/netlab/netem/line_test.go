package netem

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ulnet/lnet/machine"
)

// arrival is a frame, known by its first bytes, and when it left the line.
type arrival struct {
	ID uint32
	At time.Duration
}

// bench drives a line through virtual time.
type bench struct {
	t    rapid.TB
	line *line
	now  time.Duration
	wake time.Duration
	out  []arrival
}

func newBench(t rapid.TB, seed uint64, p Plan) *bench {
	b := &bench{t: t, line: newLine(rand.New(rand.NewPCG(seed, 0))), wake: machine.Never}
	b.step(input{Plan: &p})
	return b
}

func (b *bench) step(in input) {
	var out output
	b.wake = b.line.Step(b.now, in, &out)
	if b.wake <= b.now {
		b.t.Fatalf("wake %v is not after %v", b.wake, b.now)
	}
	for _, f := range out.Frames {
		b.out = append(b.out, arrival{binary.BigEndian.Uint32(f), b.now})
	}
}

// until steps the line each time that its timer is due, up to an instant.
func (b *bench) until(at time.Duration) {
	for b.wake <= at {
		b.now = b.wake
		b.step(input{})
	}
	b.now = at
}

func (b *bench) drain() []arrival {
	for b.wake != machine.Never {
		b.until(b.wake)
	}
	return b.out
}

func (b *bench) send(id uint32, size int) {
	f := make([]byte, size)
	binary.BigEndian.PutUint32(f, id)
	b.step(input{Frame: f})
}

const ms = time.Millisecond

func TestPlans(t *testing.T) {
	tests := []struct {
		name string
		plan Plan
		want []arrival // expected arrivals of three frames of 1000 bytes, sent at 0, 1 and 2 ms
	}{
		{"nothing", Plan{}, []arrival{{0, 0}, {1, ms}, {2, 2 * ms}}},
		{"delay", Plan{Delay: 10 * ms}, []arrival{{0, 10 * ms}, {1, 11 * ms}, {2, 12 * ms}}},
		{"rate", Plan{Rate: 1_000_000}, []arrival{{0, 8 * ms}, {1, 16 * ms}, {2, 24 * ms}}},
		{"rate and delay", Plan{Rate: 1_000_000, Delay: ms}, []arrival{{0, 9 * ms}, {1, 17 * ms}, {2, 25 * ms}}},
		{"all lost", Plan{Loss: 1}, nil},
		{"all duplicated", Plan{Duplicate: 1}, []arrival{{0, 0}, {0, 0}, {1, ms}, {1, ms}, {2, 2 * ms}, {2, 2 * ms}}},
		{"all held back", Plan{Reorder: 1, HoldBack: 7 * ms}, []arrival{{0, 7 * ms}, {1, 8 * ms}, {2, 9 * ms}}},
		{"no room", Plan{Delay: 10 * ms, Queue: 2000}, []arrival{{0, 10 * ms}, {1, 11 * ms}}},
		{"no room for the copy", Plan{Delay: 1500 * time.Microsecond, Duplicate: 1, Queue: 1999}, []arrival{
			{0, 1500 * time.Microsecond}, {2, 3500 * time.Microsecond},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, 1, tt.plan)
			for id := range uint32(3) {
				b.until(time.Duration(id) * ms)
				b.send(id, 1000)
			}
			if diff := cmp.Diff(tt.want, b.drain()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestRates: each fault happens as often as its probability says, within 5 standard deviations of a
// binomial distribution. The seed is fixed.
func TestRates(t *testing.T) {
	const frames, probability = 100_000, 0.03
	tests := []struct {
		name  string
		plan  Plan
		count func(Counters) uint64
	}{
		{"loss", Plan{Loss: probability}, func(c Counters) uint64 { return c.Lost }},
		{"duplication", Plan{Duplicate: probability}, func(c Counters) uint64 { return c.Duplicated }},
		{"corruption", Plan{Corrupt: probability}, func(c Counters) uint64 { return c.Corrupted }},
		{"reordering", Plan{Reorder: probability}, func(c Counters) uint64 { return c.Reordered }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, 42, tt.plan)
			for range frames {
				b.step(input{Frame: slices.Clone(tcpFrame)})
				b.now += time.Microsecond
			}
			mean, deviation := frames*probability, math.Sqrt(frames*probability*(1-probability))
			if got := float64(tt.count(b.line.Counters())); math.Abs(got-mean) > 5*deviation {
				t.Errorf("%v of %d frames, want %v ± %.0f", got, frames, mean, 5*deviation)
			}
		})
	}
}

// TestJitter: delays spread evenly over the jitter where frames are far apart,
// and frames that are close keep their order.
func TestJitter(t *testing.T) {
	plan := Plan{Delay: 10 * ms, Jitter: 20 * ms}
	b := newBench(t, 7, plan)
	const frames = 20_000
	for id := range uint32(frames) {
		b.until(time.Duration(id) * 100 * ms)
		b.send(id, 60)
	}
	var quarters [4]int
	for _, a := range b.drain() {
		late := a.At - time.Duration(a.ID)*100*ms - plan.Delay
		if late < 0 || late >= plan.Jitter {
			t.Fatalf("frame %d is late by %v beyond the delay", a.ID, late)
		}
		quarters[4*late/plan.Jitter]++
	}
	for i, n := range quarters {
		if n < frames/4-500 || n > frames/4+500 { // within 8 standard deviations of the expected number
			t.Errorf("quarter %d of the jitter has %d of %d frames", i, n, frames)
		}
	}

	b = newBench(t, 7, plan)
	for id := range uint32(1000) {
		b.until(time.Duration(id) * 10 * time.Microsecond)
		b.send(id, 60)
	}
	if got := b.drain(); len(got) != 1000 || !slices.IsSortedFunc(got, func(a, b arrival) int { return int(a.ID) - int(b.ID) }) {
		t.Errorf("jitter reordered, or lost some of, %d frames", len(got))
	}
}

func TestReorderOvertakes(t *testing.T) {
	b := newBench(t, 3, Plan{Reorder: 0.2, HoldBack: ms})
	for id := range uint32(1000) {
		b.until(time.Duration(id) * 100 * time.Microsecond)
		b.send(id, 60)
	}
	overtaken := 0
	last := uint32(0)
	for _, a := range b.drain() {
		if a.ID < last {
			overtaken++
		}
		last = max(last, a.ID)
	}
	if held := b.line.Counters().Reordered; overtaken < 100 || uint64(overtaken) > held {
		t.Errorf("%d frames were overtaken, %d held back", overtaken, held)
	}
}

// TestNewPlan: frames that are on the line keep their time, and the order is kept when a
// delay ends.
func TestNewPlan(t *testing.T) {
	b := newBench(t, 1, Plan{Delay: 10 * ms})
	b.send(0, 60)
	b.step(input{Plan: &Plan{}})
	b.until(4 * ms)
	b.send(1, 60)
	b.until(12 * ms)
	b.send(2, 60)
	if diff := cmp.Diff([]arrival{{0, 10 * ms}, {1, 10 * ms}, {2, 12 * ms}}, b.drain()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDeterministic(t *testing.T) {
	run := func(seed uint64) []arrival {
		b := newBench(t, seed, Plan{Delay: ms, Jitter: ms, Loss: 0.1, Duplicate: 0.1, Reorder: 0.1, Corrupt: 0.1})
		for id := range uint32(1000) {
			b.until(time.Duration(id) * 50 * time.Microsecond)
			b.send(id, 60)
		}
		return b.drain()
	}
	if diff := cmp.Diff(run(1), run(1)); diff != "" {
		t.Errorf("one seed, two outcomes:\n%s", diff)
	}
	if cmp.Equal(run(1), run(2)) {
		t.Error("two seeds, one outcome")
	}
}

// TestConservation: no frame appears or vanishes except by a fault that is counted, and the
// queue keeps its bound.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chance := rapid.Float64Range(0, 1)
		millis := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.IntRange(0, 50).Draw(t, "ms")) * ms })
		plans := rapid.Custom(func(t *rapid.T) Plan {
			return Plan{
				Delay: millis.Draw(t, "delay"), Jitter: millis.Draw(t, "jitter"), HoldBack: millis.Draw(t, "hold"),
				Rate: rapid.Int64Range(0, 1_000_000_000).Draw(t, "rate"), Queue: rapid.IntRange(0, 10_000).Draw(t, "queue"),
				Loss: chance.Draw(t, "loss"), Duplicate: chance.Draw(t, "dup"), Corrupt: chance.Draw(t, "corrupt"), Reorder: chance.Draw(t, "reorder"),
			}
		})
		plan := plans.Draw(t, "plan")
		b := newBench(t, rapid.Uint64().Draw(t, "seed"), plan)
		for id := range uint32(rapid.IntRange(1, 200).Draw(t, "frames")) {
			b.until(b.now + time.Duration(rapid.IntRange(0, 2_000_000).Draw(t, "gap")))
			if id%50 == 49 {
				plan = plans.Draw(t, "plan")
				b.step(input{Plan: &plan})
			}
			before := b.line.bytes
			b.send(id, rapid.IntRange(4, 1514).Draw(t, "size"))
			if b.line.bytes > max(before, plan.queue()) {
				t.Fatalf("%d bytes on the line, %d allowed", b.line.bytes, plan.queue())
			}
			c := b.line.Counters()
			if c.Frames+c.Duplicated != c.Delivered+c.Lost+c.Overflowed+uint64(len(b.line.queue)) {
				t.Fatalf("does not add up: %+v, %d on the line", c, len(b.line.queue))
			}
		}
		if n := len(b.drain()); uint64(n) != b.line.Counters().Delivered || b.line.bytes != 0 {
			t.Fatalf("%d frames left, counted %+v; %d bytes remain", n, b.line.Counters(), b.line.bytes)
		}
	})
}

// sum computes the Internet checksum of RFC 1071.
func sum(b []byte) uint16 {
	var s uint32
	for len(b) >= 2 {
		s += uint32(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	for s > 0xFFFF {
		s = s>>16 + s&0xFFFF
	}
	return ^uint16(s)
}

// tcpFrame is an Ethernet frame with 60 bytes of IPv4.
var tcpFrame = append([]byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00\x45\x00"), bytes.Repeat([]byte{0xFF, 0, 0, 0xFF, 0xFF}, 9)[:44]...)

func TestCorruptionChangesTheChecksum(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ipv6 := append(slices.Clone(tcpFrame), tcpFrame...)
	ipv6[12], ipv6[13] = 0x86, 0xDD
	for _, frame := range [][]byte{tcpFrame, tcpFrame[:59], ipv6} {
		first := etherSize
		if frame[12] == 0x86 {
			first += ipv6Size
		}
		for range 100_000 {
			bad := slices.Clone(frame)
			if !corrupt(bad, random) {
				t.Fatal("nothing to corrupt")
			}
			if sum(bad[first:]) == sum(frame[first:]) || !bytes.Equal(bad[:first], frame[:first]) {
				t.Fatalf("passes unnoticed:\n%x\n%x", frame, bad)
			}
		}
	}
}

func TestCorruptionSparesOthers(t *testing.T) {
	arp := slices.Clone(tcpFrame)
	arp[13] = 0x06
	for name, frame := range map[string][]byte{
		"ARP": arp, "empty": {}, "short": tcpFrame[:13], "header only": tcpFrame[:etherSize], "one byte": tcpFrame[:etherSize+1],
	} {
		got := slices.Clone(frame)
		if corrupt(got, rand.New(rand.NewPCG(1, 2))) || !bytes.Equal(got, frame) {
			t.Errorf("%s was corrupted", name)
		}
	}
}

func TestValidate(t *testing.T) {
	for name, p := range map[string]Plan{
		"negative delay": {Delay: -1}, "negative rate": {Rate: -1}, "negative queue": {Queue: -1},
		"above 1": {Loss: 1.1}, "below 0": {Corrupt: -0.1}, "not a number": {Reorder: math.NaN()},
	} {
		if p.Validate() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := (Plan{Loss: 1, Duplicate: 1, Delay: time.Hour}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestPlanString(t *testing.T) {
	for want, p := range map[string]Plan{
		"nothing": {}, "delay 10ms 2ms loss 1.5%": {Delay: 10 * ms, Jitter: 2 * ms, Loss: 0.015},
		"rate 1000bit duplicate 100% corrupt 1% reorder 2%": {Rate: 1000, Duplicate: 1, Corrupt: 0.01, Reorder: 0.02},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
