package simlnd

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// TestAddresses: the NID of a host leads back to that host.
func TestAddresses(t *testing.T) {
	for id, text := range map[sim.NodeID]string{0: "10.0.0.1@tcp", 255: "10.0.1.0@tcp", 999_999: "10.15.66.64@tcp", maxNodes - 1: "10.255.255.254@tcp"} {
		if got := NID(id).String(); got != text {
			t.Errorf("host %d has NID %v, want %v", id, got, text)
		}
		if back, ok := Node(NID(id)); back != id || !ok {
			t.Errorf("%v is host %d, %v", NID(id), back, ok)
		}
	}
	for _, id := range []sim.NodeID{-1, maxNodes} {
		if back, ok := Node(NID(id)); ok {
			t.Errorf("%v is host %d", NID(id), back)
		}
	}
}

// TestWindow: a paused receiver stops the sender after a window; all arrives
// after the pause, and priority messages have a window of their own.
func TestWindow(t *testing.T) {
	const window, size = 4096, 1000
	n := newNet(t, 2, millisecond(), window)
	n.send(0, 1, 0, 1, 10)
	n.run(time.Minute)
	n.Pause(1)
	n.send(0, 1, 1, 100, size)
	n.run(time.Second)
	left := len(n.ends[0].ended) - 1
	if want := (window + size) / (size + headerSize); left < want-1 || left > want+1 {
		t.Errorf("%d messages have left, want about %d", left, want)
	}
	n.Do(0, func(*Host) {
		m := message(0, 1, 999, 10)
		m.Priority = true
		n.ends[0].ni.Send(m)
	})
	n.run(time.Second)
	if len(n.ends[0].ended) != left+2 {
		t.Error("a priority message waits for the window of bulk")
	}
	n.Resume(1)
	n.run(5 * time.Second)
	got := n.ends[1].got
	if len(got) != 102 || slices.Index(got, 999) > left+2 {
		t.Errorf("%d arrived, the priority message as number %d", len(got), slices.Index(got, 999))
	}
	bulk := slices.DeleteFunc(slices.Clone(got), func(b uint64) bool { return b == 999 })
	if !slices.IsSorted(bulk) {
		t.Error("messages have changed their order")
	}
}

// TestLossDoesNotStop: lost messages do not occupy the window for ever, and all others
// arrive.
func TestLossDoesNotStop(t *testing.T) {
	q := millisecond()
	q.Loss = 0.3
	n := newNet(t, 2, q, 4096)
	n.send(0, 1, 0, 2000, 100)
	n.run(5 * time.Minute)
	if len(n.ends[0].ended) != 2000 || count(n.ends[0].ended, nil) != 2000 {
		t.Fatalf("%d of 2000 messages have left, down %v", count(n.ends[0].ended, nil), n.ends[0].causes)
	}
	if got := len(n.ends[1].got); got < 1300 || got > 1500 {
		t.Errorf("%d of 2000 have arrived at a loss of 30%%", got)
	}
}

// TestDuplicates: a message that the network duplicates is delivered twice, each time with its
// whole payload.
func TestDuplicates(t *testing.T) {
	n := newNet(t, 2, millisecond(), 0)
	change, err := link.ParseChange([]string{"duplicate", "100%", "latency", "1ms±0.5ms"})
	if err != nil {
		t.Fatal(err)
	}
	n.SetLink(sim.AllNodes, sim.AllNodes, change)
	n.send(0, 1, 0, 100, 100)
	n.run(time.Second)
	times := map[uint64]int{}
	for _, bits := range n.ends[1].got {
		times[bits]++
	}
	for bits := range uint64(100) {
		if times[bits] != 2 {
			t.Errorf("message %d arrived %d times", bits, times[bits])
		}
	}
}

// TestHold: while lnet holds a bulk message, a priority message passes it, and later bulk messages
// wait in their order.
func TestHold(t *testing.T) {
	n := newNet(t, 2, millisecond(), 0)
	b := n.ends[1]
	b.hold = func(bits uint64) bool { return bits == 2 }
	n.send(0, 1, 1, 5, 10)
	n.Do(0, func(*Host) {
		m := message(0, 1, 100, 10)
		m.Priority = true
		n.ends[0].ni.Send(m)
	})
	n.run(time.Second)
	if want := []uint64{1, 100}; !slices.Equal(slices.Sorted(slices.Values(b.got)), want) {
		t.Errorf("got %v while 2 is held, want %v", b.got, want)
	}
	n.Do(1, func(*Host) {
		b.accept(b.held[0])
		b.ni.Recv(b.held[0])
	})
	n.run(time.Second)
	if want := []uint64{1, 100, 2, 3, 4, 5}; !slices.Equal(b.got[2:], want[2:]) {
		t.Errorf("got %v, want %v", b.got, want)
	}
}

// TestOtherGoroutines sends from eight goroutines while the fabric runs.
func TestOtherGoroutines(t *testing.T) {
	n := newNet(t, 2, millisecond(), 0)
	const each = 200
	var wg sync.WaitGroup
	for s := range 8 {
		wg.Go(func() {
			for i := range each {
				n.ends[0].ni.Send(message(0, 1, uint64(s*each+i), 100))
			}
		})
	}
	sent := make(chan struct{})
	go func() { wg.Wait(); close(sent) }()
	for running := true; running; {
		select {
		case <-sent:
			running = false
		default:
			n.run(time.Millisecond)
		}
	}
	n.run(time.Second)
	if got := len(n.ends[1].got); got != 8*each {
		t.Errorf("%d of %d arrived", got, 8*each)
	}
}

// TestTimers: timers run in their order, at the right instant of a drifting clock, and not at
// all after they were stopped.
func TestTimers(t *testing.T) {
	n := newNet(t, 1, link.Quality{}, 0)
	var order []int
	n.SetSkew(0, 100_000) // the clock gains 0.1 s per second
	n.Do(0, func(h *Host) {
		clock := h.Clock()
		for i, d := range []time.Duration{3, 1, 2, 2, 1, 0} {
			clock.AfterFunc(d*time.Second, func() { order = append(order, i) })
		}
		stopped := clock.AfterFunc(time.Second, func() { t.Error("a stopped timer ran") })
		if !stopped.Stop() || stopped.Stop() {
			t.Error("Stop of a pending timer, or of a stopped one")
		}
		clock.AfterFunc(1100*time.Millisecond, func() {
			if at := n.Now(); at != time.Second {
				t.Errorf("1.1 s of a fast clock are %v", at)
			}
		})
	})
	n.run(10 * time.Second)
	if want := []int{5, 1, 4, 2, 3, 0}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// TestSameSeedSameRun makes two runs with one seed and every kind of fault, and compares them: they
// must be equal.
func TestSameSeedSameRun(t *testing.T) {
	run := func() string {
		q := link.Quality{Latency: link.Dist{Base: time.Millisecond, Spread: 500 * time.Microsecond, Shape: link.Uniform}, Loss: 0.05, Duplicate: 0.05, Reorder: 0.05}
		n := newNet(t, 10, q, 4096)
		for i := range 10 {
			n.send(sim.NodeID(i), sim.NodeID((i+1)%10), 0, 100, 300)
			n.send(sim.NodeID(i), sim.NodeID((i+3)%10), 100, 50, 3000)
		}
		n.At(2*time.Second, func() { n.Kill(1); n.Crash(2); n.Pause(3); n.SetSkew(4, 500); n.SetSlow(5, time.Millisecond) })
		n.At(3*time.Second, func() { n.Start(1, false); n.Start(2, false); n.Resume(3); n.Partition(sim.Nodes(6, 7)) })
		n.At(4*time.Second, func() { n.send(6, 8, 0, 20, 10); n.send(1, 2, 0, 20, 10) })
		n.run(time.Minute)
		s := fmt.Sprintf("%x %+v", n.Digest(), n.Stats())
		for _, e := range n.ends {
			s += fmt.Sprintf("\n%v %v %v", e.got, e.ended, e.causes)
		}
		return s
	}
	if a, b := run(), run(); a != b {
		t.Errorf("two runs differ:\n%s\n%s", a, b)
	}
}

// TestAllocates: a message allocates no memory once earlier messages have left some for reuse.
func TestAllocates(t *testing.T) {
	n := newNet(t, 2, millisecond(), 0)
	m := message(0, 1, 1, 500)
	a, b := n.ends[0], n.ends[1]
	back := message(1, 0, 2, 500)
	b.onGot = func(uint64) { b.got = b.got[:0]; b.ni.Send(back) }
	a.onGot = func(uint64) { a.got = a.got[:0]; a.ni.Send(m) }
	trim := func(e *end) func(*lnd.Message) { return func(*lnd.Message) { e.ended = e.ended[:0] } }
	a.onEnd, b.onEnd = trim(a), trim(b)
	b.sink, a.sink = make([]byte, 500), make([]byte, 500)
	n.Do(0, func(*Host) { a.ni.Send(m) })
	n.run(time.Second)
	if allocs := testing.AllocsPerRun(100, func() { n.run(10 * time.Millisecond) }); allocs > 0 {
		t.Errorf("%v allocations per 10 messages", allocs)
	}
}

// BenchmarkMessages measures what the driver costs: two hosts that answer each
// other.
func BenchmarkMessages(b *testing.B) {
	n := newNet(b, 2, millisecond(), 0)
	x, y := n.ends[0], n.ends[1]
	there, back := message(0, 1, 1, 64), message(1, 0, 2, 64)
	count := 0
	y.onGot = func(uint64) { y.got, y.ended = y.got[:0], y.ended[:0]; count++; y.ni.Send(back) }
	x.onGot = func(uint64) { x.got, x.ended = x.got[:0], x.ended[:0]; count++; x.ni.Send(there) }
	n.Do(0, func(*Host) { x.ni.Send(there) })
	n.run(time.Second)
	b.ReportAllocs()
	count = 0
	for b.Loop() {
		n.run(2 * time.Millisecond)
	}
	b.ReportMetric(float64(count)/float64(b.N), "messages/op")
}
