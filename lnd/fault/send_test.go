package fault

import (
	"errors"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnet/nid"
)

// TestLatency: a delayed message reaches the driver when it is due, in order,
// and is finalized only then.
func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{}, "latency 10ms")
		for i := range uint64(3) {
			b.send(i)
			pass(time.Millisecond)
		}
		if len(b.sent)+len(b.ended) > 0 {
			t.Fatalf("sent at once: %v", b.sent)
		}
		if s := b.plan.Snapshot(); s.Held != 3 || s.HeldBytes != 3 || !s.Active() {
			t.Errorf("%+v, want three messages", s)
		}
		pass(time.Second)
		for i, e := range b.sent {
			if want := time.Duration(10+i) * time.Millisecond; e.at != want || e.data != strconv.Itoa(i) || b.ended[i].at != want {
				t.Errorf("%v, finalized at %v, want %v", e, b.ended[i].at, want)
			}
		}
		if got := b.plan.Snapshot().Rules[0].Counts; got != (Counts{Matched: 3, Delayed: 3}) || len(b.sent) != 3 {
			t.Errorf("%+v, %d sent", got, len(b.sent))
		}
		b.empty()
	})
}

// TestLossOfSends: a lost message is finalized as if it had left, and never reaches the
// driver.
func TestLossOfSends(t *testing.T) {
	for rule, want := range map[string]Counts{"loss 100%": {Matched: 1, Lost: 1}, "cut": {Matched: 1, Cut: 1}} {
		b := newBench(t, Config{}, rule)
		b.send(1)
		if len(b.sent) != 0 || len(b.ended) != 1 || b.ended[0].err != nil {
			t.Errorf("%s: sent %v, finalized %v", rule, b.sent, b.ended)
		}
		if got := b.plan.Snapshot().Rules[0].Counts; got != want {
			t.Errorf("%s: %+v, want %+v", rule, got, want)
		}
	}
}

// TestDuplicateHasItsOwnMemory: the copy keeps the payload as it was when the message was sent, even if the
// sender changes its memory later. The end of the copy is not reported to lnet.
func TestDuplicateHasItsOwnMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{}, "duplicate 100%")
		b.slow = true
		b.send(7)
		if len(b.sent) != 2 {
			t.Fatalf("sent %v, want two", b.sent)
		}
		if s := b.plan.Snapshot(); s.Held != 1 || s.HeldBytes != 1 {
			t.Errorf("kept: %+v, want the copy", s)
		}
		original, twin := b.inTow[0], b.inTow[1]
		b.up.Finalize(original, nil)
		if got := string(twin.Payload.AppendTo(nil)); got != "7" {
			t.Errorf("the copy became %q when the original was finalized", got)
		}
		b.up.Finalize(twin, syscall.EIO)
		if len(b.ended) != 1 || b.ended[0].err != nil {
			t.Errorf("lnet heard of %v, want the original alone", b.ended)
		}
		b.empty()

		// With a delay, the driver gets both the original and the copy when the delay is over.
		b.slow = false
		b.rule("latency 5ms")
		b.send(8)
		pass(time.Second)
		if got := bitsOf(b.sent[2:]); !slices.Equal(got, []uint64{8, 8}) || b.sent[3].data != "8" || len(b.ended) != 2 {
			t.Errorf("sent %v", b.sent[2:])
		}
		b.empty()
	})
}

// TestReorder: a message that is held back is passed by later ones.
func TestReorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{}, "reorder 100% hold 10ms")
		b.send(1)
		b.plan.RemoveAll()
		b.send(2)
		pass(time.Second)
		if got := bitsOf(b.sent); !slices.Equal(got, []uint64{2, 1}) {
			t.Errorf("sent %v", got)
		}
	})
}

// TestPriority: of the messages that are due, priority messages are sent first.
func TestPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		b.plan.Pause(0)
		for i := range uint64(4) {
			m := put(here, there, i, "")
			m.Priority = i >= 2
			b.ni.Send(m)
		}
		b.plan.Resume()
		pass(time.Second)
		if got := bitsOf(b.sent); !slices.Equal(got, []uint64{2, 3, 0, 1}) {
			t.Errorf("sent %v", got)
		}
	})
}

// TestBounds: messages beyond the bounds in number or bytes are lost and counted.
func TestBounds(t *testing.T) {
	for name, cfg := range map[string]Config{"messages": {MaxHeld: 3}, "bytes": {MaxHeldBytes: 3}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, cfg, "latency 10ms")
				for i := range uint64(5) {
					b.send(i)
				}
				if got := b.bits(&b.ended); !slices.Equal(got, []uint64{3, 4}) {
					t.Errorf("lost %v", got)
				}
				pass(time.Second)
				if got := b.bits(&b.sent); !slices.Equal(got, []uint64{0, 1, 2}) {
					t.Errorf("sent %v", got)
				}
				b.rule("latency 0s duplicate 100%")
				b.slow = true
				for i := range uint64(4) {
					b.send(5 + i)
				}
				if len(b.sent) != 3+4+3 { // the fourth copy found no room
					t.Errorf("sent %v", bitsOf(b.sent))
				}
				if got := b.plan.Snapshot().Overflowed; got != 3 {
					t.Errorf("overflowed %d, want 3", got)
				}
			})
		})
	}
}

// TestShutdown: kept messages end with ESHUTDOWN, and so do later ones.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{}, "latency 10ms")
		b.send(1)
		b.receive(there, 2, nil)
		b.rule("duplicate 100%")
		b.send(3)
		if err := b.ni.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.send(4)
		if err := b.ni.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if got := bitsOf(b.ended); !slices.Equal(got, []uint64{1, 3, 4}) || len(b.sent)+len(b.got) > 0 {
			t.Errorf("finalized %v, sent %v, got %v", got, b.sent, b.got)
		}
		for _, e := range b.ended {
			if !errors.Is(e.err, syscall.ESHUTDOWN) {
				t.Errorf("%v, want ESHUTDOWN", e)
			}
		}
		b.empty()
	})
}

// TestStop: messages that are kept at Stop, or that a pause would keep later, end with
// ESHUTDOWN; other messages pass.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		b.plan.Pause(time.Minute)
		b.send(1)
		b.plan.Stop()
		b.send(2)
		b.receive(there, 3, nil)
		b.plan.Resume()
		b.send(4)
		pass(time.Hour)
		if got := bitsOf(b.ended); !slices.Equal(got, []uint64{1, 2, 4}) || !slices.Equal(bitsOf(b.sent), []uint64{4}) {
			t.Errorf("finalized %v, sent %v", b.ended, b.sent)
		}
		if len(b.got) > 0 || !errors.Is(b.ended[0].err, syscall.ESHUTDOWN) || !errors.Is(b.ended[1].err, syscall.ESHUTDOWN) {
			t.Errorf("finalized %v, got %v", b.ended, b.got)
		}
		b.empty()
	})
}

// TestNoFaultsNoAllocations: without faults, and where no rule matches, a message allocates
// nothing in either direction.
func TestNoFaultsNoAllocations(t *testing.T) {
	for _, rules := range [][]string{nil, {"from 1.2.3.4@tcp loss 50%", "type GET portal 3 latency 1s"}} {
		b := newBench(t, Config{}, rules...)
		quiet := &quietEnds{}
		b.ni.(*netIf).up, b.ni.(*netIf).lower = quiet, quiet
		quiet.up = b.up
		m := put(here, there, 1, "payload")
		d := &lnd.Delivery{Header: put(there, here, 1, "payload").Header}
		if n := testing.AllocsPerRun(1000, func() {
			b.ni.Send(m)
			_, _ = b.up.Parse(d)
			b.up.Delivered(d, nil)
		}); n > 0 {
			t.Errorf("rules %q: %v allocations", rules, n)
		}
	}
}

// BenchmarkLoopback compares a message over lo with one over a wrapped lo: the difference is
// the cost of the wrapper when there are no faults.
func BenchmarkLoopback(b *testing.B) {
	for _, c := range []struct {
		name   string
		driver lnd.Driver
	}{
		{"bare", lo.Driver{}},
		{"no faults", Wrap(lo.Driver{}, planOf(b, nil))},
		{"a rule for others", Wrap(lo.Driver{}, planOf(b, []string{"from 1.2.3.4@tcp cut"}))},
	} {
		b.Run(c.name, func(b *testing.B) {
			ni, err := c.driver.Startup(lnd.Config{Net: nid.MakeNet(nid.Lo, 0)}, &quietEnds{})
			if err != nil {
				b.Fatal(err)
			}
			m := put(nid.Lo0(), nid.Lo0(), 1, "payload")
			b.ReportAllocs()
			for b.Loop() {
				ni.Send(m)
			}
		})
	}
}

// quietEnds is a driver's NI and an lnet that do nothing.
type quietEnds struct {
	benchNI
	up lnd.Upcalls
}

func (q *quietEnds) Send(m *lnd.Message)                   { q.up.Finalize(m, nil) }
func (*quietEnds) Parse(*lnd.Delivery) (lnd.Answer, error) { return lnd.Accept, nil }
func (*quietEnds) Delivered(*lnd.Delivery, error)          {}
func (*quietEnds) Finalize(*lnd.Message, error)            {}
func (*quietEnds) Abandon(*lnd.Delivery) bool              { return false }
func (*quietEnds) Waits(*lnd.Message)                      {}
func (*quietEnds) PeerUp(nid.ProcessID)                    {}
func (*quietEnds) PeerDown(nid.ProcessID, error)           {}
