package fault

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/faultrule"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// lnetRule adds a rule of LNet that matches all messages of the bench; the function change can
// edit the rule first.
func (b *bench) lnetRule(k faultrule.Kind, change func(*faultrule.Attr)) {
	b.t.Helper()
	a := faultrule.Attr{Source: nid.Any(), Dest: nid.Any(), Rate: 1}
	change(&a)
	if err := b.plan.AddRule(k, a); err != nil {
		b.t.Fatal(err)
	}
}

func waits(d time.Duration) func(*faultrule.Attr) {
	return func(a *faultrule.Attr) { a.Latency = d }
}

func fails(c faultrule.Classes) func(*faultrule.Attr) {
	return func(a *faultrule.Attr) { a.Classes = c }
}

// TestDropRule: a drop rule without health errors discards messages that arrive, and does not
// affect those that are sent.
func TestDropRule(t *testing.T) {
	spec.Covers(t, "FR-12")
	b := newBench(t, Config{})
	b.lnetRule(faultrule.Drop, func(a *faultrule.Attr) { a.Local = here })
	b.send(1)
	if n := b.receive(there, 2, nil); n != 0 {
		t.Errorf("%d bytes of a dropped message were read", n)
	}
	if !slices.Equal(bitsOf(b.sent), []uint64{1}) || len(b.got) != 0 {
		t.Errorf("sent %v, got %v", b.sent, b.got)
	}
	if got := b.plan.Snapshot().Drop[0].Stats; got != (faultrule.Stats{Matched: 1, Hit: 1, Put: 1}) {
		t.Errorf("%+v", got)
	}
	b.empty()
}

// TestFailingRule: a rule with health errors makes sends fail before they reach the driver,
// and does not affect messages that arrive.
func TestFailingRule(t *testing.T) {
	spec.Covers(t, "FR-13")
	b := newBench(t, Config{})
	b.rule("duplicate 100%")
	b.lnetRule(faultrule.Drop, fails(1<<2))
	b.send(1)
	b.receive(there, 2, nil)
	if len(b.sent) != 0 || len(b.ended) != 1 || lnd.FailureOf(b.ended[0].err) != lnd.LocalDropped {
		t.Errorf("sent %v, ended %v", b.sent, b.ended)
	}
	if got := b.plan.Snapshot().Drop[0].Stats; got != (faultrule.Stats{Matched: 1, Hit: 1, Put: 1}) {
		t.Errorf("%+v", got)
	}
}

// TestFailureAfterWait: a message that one rule delays and another makes fail ends when the
// delay is over.
func TestFailureAfterWait(t *testing.T) {
	spec.Covers(t, "FR-13", "FR-15")
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		b.lnetRule(faultrule.Drop, fails(1<<8))
		b.lnetRule(faultrule.Delay, waits(2*time.Second))
		b.send(1)
		pass(2*time.Second - 1)
		if len(b.bits(&b.ended)) != 0 {
			t.Error("it ended at once")
		}
		pass(1)
		if len(b.sent) != 0 || len(b.ended) != 1 || lnd.FailureOf(b.ended[0].err) != lnd.RemoteDropped {
			t.Errorf("sent %v, ended %v", b.sent, b.ended)
		}
		b.empty()
	})
}

// TestDelayRule: messages that are sent and messages that arrive are delayed by the latency
// of the rule.
func TestDelayRule(t *testing.T) {
	spec.Covers(t, "FR-15")
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		b.lnetRule(faultrule.Delay, waits(3*time.Second))
		b.send(1)
		b.receive(there, 2, nil)
		pass(3*time.Second - 1)
		if len(b.bits(&b.sent))+len(b.bits(&b.got)) > 0 {
			t.Error("they went on at once")
		}
		pass(1)
		if len(b.sent) != 1 || len(b.got) != 1 || b.sent[0].at != 3*time.Second || b.got[0].at != 3*time.Second || b.got[0].data != "2" {
			t.Errorf("sent %v, got %v", b.sent, b.got)
		}
		if got := b.plan.Snapshot().Delay[0].Stats; got != (faultrule.Stats{Matched: 2, Hit: 2, Put: 2}) {
			t.Errorf("%+v", got)
		}
		b.empty()
	})
}

// TestOwnMessages: rules apply to messages of a node to itself over a network, too.
func TestOwnMessages(t *testing.T) {
	spec.Covers(t, "FR-12", "FR-15")
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		b.lnetRule(faultrule.Delay, waits(time.Second))
		b.receive(here, 1, nil)
		pass(time.Second)
		if len(b.got) != 1 || b.got[0].at != time.Second {
			t.Errorf("got %v", b.got)
		}
		b.lnetRule(faultrule.Drop, func(*faultrule.Attr) {})
		b.receive(here, 2, nil)
		pass(time.Minute)
		if len(b.got) != 1 {
			t.Errorf("got %v", b.got)
		}
	})
}

// TestRemoveDelay: when a rule is removed, the messages that it holds back go on, in their order,
// or are canceled. Messages that another rule holds back still wait.
func TestRemoveDelay(t *testing.T) {
	spec.Covers(t, "FR-16")
	for _, cancel := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, Config{})
			b.lnetRule(faultrule.Delay, func(a *faultrule.Attr) { a.Latency, a.Source, a.Dest = time.Minute, here, there })
			b.lnetRule(faultrule.Delay, func(a *faultrule.Attr) { a.Latency, a.Source, a.Dest = time.Minute, there, here })
			b.lnetRule(faultrule.Delay, func(a *faultrule.Attr) { a.Latency, a.Source, a.Dest = time.Hour, here, third })
			b.ni.Send(put(here, third, 1, "1"))
			b.send(2)
			pass(time.Second)
			b.send(3)
			b.receive(there, 4, nil)
			pass(time.Second)
			if n := b.plan.RemoveRules(faultrule.Delay, nid.Any(), there, cancel) + b.plan.RemoveRules(faultrule.Delay, there, here, cancel); n != 2 {
				t.Errorf("%d rules removed", n)
			}
			pass(0)
			checkFreed(t, b, cancel)
			if s := b.plan.Snapshot(); s.Held != 1 || len(s.Delay) != 1 {
				t.Errorf("%d are kept by %d rules, want the one of the third", s.Held, len(s.Delay))
			}
			pass(time.Hour)
			b.empty()
		})
	}
}

// checkFreed checks that messages 2 and 3 have left and 4 has arrived, or that they were
// canceled.
func checkFreed(t *testing.T, b *bench, cancel bool) {
	t.Helper()
	if !slices.Equal(bitsOf(b.ended), []uint64{2, 3}) {
		t.Errorf("ended: %v", b.ended)
	}
	for _, e := range b.ended {
		if errors.Is(e.err, syscall.ECANCELED) != cancel || (e.err == nil) == cancel {
			t.Errorf("cancel %v: message %d ended with %v", cancel, e.bits, e.err)
		}
	}
	sent, got := []uint64{2, 3}, []uint64{4}
	if cancel {
		sent, got = nil, nil
	}
	if !slices.Equal(bitsOf(b.sent), sent) || !slices.Equal(bitsOf(b.got), got) {
		t.Errorf("cancel %v: sent %v, got %v", cancel, b.sent, b.got)
	}
}

// TestRemovedWhileRead: an arrival is not delayed if its rule is removed while its payload is
// still being read.
func TestRemovedWhileRead(t *testing.T) {
	spec.Covers(t, "FR-16")
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		b.lnetRule(faultrule.Delay, waits(time.Hour))
		d := &lnd.Delivery{Header: put(there, here, 1, "1").Header, From: nid.ProcessID{NID: there}}
		if _, err := b.up.Parse(d); err != nil {
			t.Fatal(err)
		}
		b.plan.RemoveRules(faultrule.Delay, nid.Any(), nid.Any(), false)
		b.up.Delivered(d, nil)
		pass(0)
		if len(b.got) != 1 {
			t.Errorf("got %v", b.got)
		}
		b.empty()
	})
}

// TestRuleBounds: beyond the bounds a delayed message is lost and counted.
func TestRuleBounds(t *testing.T) {
	spec.Covers(t, "FR-20")
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{MaxHeld: 3})
		b.lnetRule(faultrule.Delay, waits(time.Second))
		for i := range uint64(3) {
			b.send(i)
			b.receive(there, 10+i, nil)
		}
		if s := b.plan.Snapshot(); s.Held != 3 || s.Overflowed != 3 {
			t.Errorf("%d kept, %d lost", s.Held, s.Overflowed)
		}
		pass(time.Second)
		if !slices.Equal(bitsOf(b.sent), []uint64{0, 1}) || !slices.Equal(bitsOf(b.got), []uint64{10}) {
			t.Errorf("sent %v, got %v", b.sent, b.got)
		}
		b.empty()
	})
}

// TestNoRulesNoLock: without rules a message does not take the lock of the plan: it passes
// while another goroutine holds the lock.
func TestNoRulesNoLock(t *testing.T) {
	spec.Covers(t, "FR-21")
	b := newBench(t, Config{})
	b.lnetRule(faultrule.Drop, fails(1<<2))
	b.lnetRule(faultrule.Delay, waits(time.Second))
	b.plan.RemoveRules(faultrule.Drop, nid.Any(), nid.Any(), false)
	b.plan.RemoveRules(faultrule.Delay, nid.Any(), nid.Any(), false)
	if b.plan.active.Load() {
		t.Fatal("without rules messages still ask the plan") // a message would wait for ever for mu, which is locked below
	}
	b.plan.mu.Lock()
	defer b.plan.mu.Unlock()
	b.send(1)
	b.receive(there, 2, nil)
	if len(b.sent) != 1 || len(b.got) != 1 {
		t.Errorf("sent %v, got %v", b.sent, b.got)
	}
}

// TestResetRules: ResetRules clears the counters of the drop rules, and not those of the delay rules.
func TestResetRules(t *testing.T) {
	spec.Covers(t, "FR-18")
	b := newBench(t, Config{})
	b.lnetRule(faultrule.Drop, func(*faultrule.Attr) {})
	b.lnetRule(faultrule.Delay, func(a *faultrule.Attr) { a.Rate, a.Latency = 1000, time.Second })
	b.send(1)
	b.receive(there, 2, nil)
	b.plan.ResetRules(faultrule.Drop)
	if s := b.plan.Snapshot(); s.Drop[0].Stats != (faultrule.Stats{}) || s.Delay[0].Matched != 1 {
		t.Errorf("drop %+v, delay %+v", s.Drop[0].Stats, s.Delay[0].Stats)
	}
}

// above takes the part of an lnet above the wrapper: it accepts the messages that the real
// lnet.NI passes on after counting them.
type above struct {
	lnet.Upper
	arrived int
}

func (u *above) Arrive(*lnet.NI, *lnd.Delivery) (lnd.Answer, lnet.DropReason) {
	u.arrived++
	return lnd.Accept, lnet.NotDropped
}

// TestDropsAreCounted: lnet counts a message that a rule drops under a separate reason, at the
// NI and at the peer, also for lo.
func TestDropsAreCounted(t *testing.T) {
	spec.Covers(t, "FR-12")
	clock := machine.RealClock()
	plan, u := New(Config{Clock: clock}), new(above)
	n := lnet.New(lnet.Config{Clock: clock})
	n.SetUpper(u)
	ni, err := n.AddNI(Wrap(lo.Driver{}, plan), lnd.Config{Net: nid.MakeNet(nid.Lo, 0), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.AddRule(faultrule.Drop, faultrule.Attr{Source: nid.Any(), Dest: nid.Any(), Rate: 1}); err != nil {
		t.Fatal(err)
	}
	m := put(nid.Lo0(), nid.Lo0(), 1, "dropped")
	d := &lnd.Delivery{Header: m.Header, From: nid.ProcessID{NID: nid.Lo0()}}
	up := (*upward)(ni.Lower().(*netIf))
	answer, err := up.Parse(d)
	if answer != lnd.Accept || err != nil || d.Owner != nil || !d.Dropped || d.Sink.Length != 0 {
		t.Errorf("%v %v %+v", answer, err, d)
	}
	up.Delivered(d, nil)
	s := n.Snapshot()
	if u.arrived != 0 || s.Stats.DropReasons[lnet.DropRule.String()] != 1 || s.NIs[0].Traffic.Dropped.Put != 1 {
		t.Errorf("%d arrived; %+v", u.arrived, s)
	}
}
