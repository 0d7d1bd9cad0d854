package fault

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// TestClose: an NI that is about to end keeps no more messages. Faults that need not keep a
// message still apply, and messages without a fault pass.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{}, "to 10.0.0.3@tcp cut", "from 10.0.0.3@tcp cut")
		id := b.rule("to 10.0.0.2@tcp latency 10ms duplicate 100%")
		b.rule("from 10.0.0.2@tcp latency 10ms duplicate 100%")
		b.send(1)
		b.receive(there, 2, nil)
		Close(b.ni)
		b.send(3)
		b.receive(there, 4, nil)
		b.ni.Send(put(here, third, 5, "5"))
		b.receive(third, 6, nil)
		b.ni.Send(put(here, nid.MustParse("10.0.0.4@tcp"), 7, "7"))
		b.receive(nid.MustParse("10.0.0.4@tcp"), 8, nil)
		if err := b.plan.Remove(id); err != nil {
			t.Fatal(err)
		}
		b.send(9)
		pass(time.Second)
		if got := bitsOf(b.ended); !slices.Equal(got, []uint64{1, 3, 5, 7, 9}) || !slices.Equal(bitsOf(b.sent), []uint64{7, 9}) {
			t.Errorf("finalized %v, sent %v", b.ended, b.sent)
		}
		for _, e := range b.ended {
			if failed := errors.Is(e.err, syscall.ESHUTDOWN); failed != (e.bits <= 5) {
				t.Errorf("message %d ended with %v", e.bits, e.err)
			}
		}
		if got := bitsOf(b.got); !slices.Equal(got, []uint64{8}) {
			t.Errorf("got %v", got)
		}
		b.empty()
		Close(lnd.NI((*benchNI)(b))) // Close does nothing to an NI that is not wrapped
	})
}

// TestLossesDoNotRecurse: if a handler of Finalize sends each message again, Finalize does not recurse,
// whether these messages are lost or fail because the node ends.
func TestLossesDoNotRecurse(t *testing.T) {
	for name, spoil := range map[string]func(p *Plan){
		"lost":   func(*Plan) {},
		"ending": func(p *Plan) { p.RemoveAll(); p.Pause(0); p.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, []string{"cut"})
			spoil(p)
			up := &sendsAgain{t: t, left: 1000}
			up.ni = startUp(t, lo.Driver{}, p, lnd.Config{Net: nid.MakeNet(nid.Lo, 0)}, up)
			up.ni.Send(put(nid.Lo0(), nid.Lo0(), 1, "again"))
			if up.left != 0 {
				t.Errorf("%d messages were not finalized", up.left)
			}
			if err := up.ni.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// sendsAgain is an lnet that sends each message again when it ends.
type sendsAgain struct {
	tally
	t      *testing.T
	ni     lnd.NI
	left   int
	inside bool
}

func (u *sendsAgain) Finalize(m *lnd.Message, _ error) {
	if u.inside {
		u.t.Fatal("Finalize inside Finalize")
	}
	if u.left--; u.left == 0 {
		return
	}
	u.inside = true
	u.ni.Send(m)
	u.inside = false
}

// TestCopyOfWhatPasses: a copy for which there is no room is counted as lost, also if its
// original is not kept.
func TestCopyOfWhatPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{MaxHeld: 1, Clock: tardyClock{machine.RealClock()}})
		b.plan.Pause(0)
		b.send(1)
		b.rule("duplicate 100%")
		b.plan.Resume()
		b.receive(there, 2, nil)
		if n := b.plan.Snapshot().Overflowed; n != 1 {
			t.Errorf("%d copies overflowed, want 1", n)
		}
		pass(time.Second)
		if got := bitsOf(b.got); !slices.Equal(got, []uint64{2}) {
			t.Errorf("got %v", got)
		}
		b.empty()
	})
}
