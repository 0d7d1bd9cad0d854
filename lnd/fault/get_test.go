package fault

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/faultrule"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// fetch makes a GET arrive whose sender waits until the driver has written the data to its memory.
func (b *bench) fetch() {
	b.t.Helper()
	d := &lnd.Delivery{From: nid.ProcessID{NID: there}, RDMAGet: true}
	d.Header.SrcNID, d.Header.DestNID = there, here
	d.Header.SetGet(wire.GetCmd{Portal: 4, SinkLength: 1 << 16})
	b.held = d
	switch answer, err := b.up.Parse(d); {
	case err != nil:
		b.t.Fatal(err)
	case answer == lnd.Accept:
		(*benchNI)(b).Recv(d)
	}
}

// drops is an lnet that drops all messages.
func drops(d *lnd.Delivery) (lnd.Answer, error) {
	d.Dropped = true
	return lnd.Accept, nil
}

// TestLostGet: if a GET by RDMA is lost on arrival, the driver sees it as dropped, so that it answers the sender
// and does not wait for lnet.
func TestLostGet(t *testing.T) {
	b := newBench(t, Config{}, "type GET loss 100%")
	b.fetch()
	if !slices.Equal(b.dropped, []bool{true}) || len(b.got) > 0 {
		t.Errorf("dropped %v, lnet got %v", b.dropped, b.got)
	}
	b.empty()
}

// TestLateGet: a driver sees whether lnet has dropped a delayed GET by RDMA, even if lnet holds the GET first, or
// finds that it breaks the protocol.
func TestLateGet(t *testing.T) {
	for name, tt := range map[string]struct {
		parse   func(*lnd.Delivery) (lnd.Answer, error)
		dropped bool
		got     int // how often lnet is told that the GET has been delivered
	}{
		"taken":   {nil, false, 1},
		"dropped": {drops, true, 1},
		"refused": {func(*lnd.Delivery) (lnd.Answer, error) { return lnd.Accept, errors.New("broken") }, true, 0},
	} {
		for copies, rule := range []string{"latency 10ms", "latency 10ms duplicate 100%"} {
			t.Run(fmt.Sprint(name, ", ", rule), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, Config{}, rule)
					b.parse = tt.parse
					b.fetch()
					pass(9 * time.Millisecond)
					if n := b.plan.Snapshot().Held; n != 1+copies {
						t.Fatalf("%d messages wait, want %d", n, 1+copies)
					}
					pass(time.Second)
					if !slices.Equal(b.dropped, []bool{tt.dropped}) || len(b.got) != tt.got*(1+copies) {
						t.Errorf("dropped %v, lnet got %v", b.dropped, b.got)
					}
					b.empty()
				})
			})
		}
	}
}

// TestLateGetHeld: lnet may hold a GET by RDMA that was delayed, and call Recv at any time.
func TestLateGetHeld(t *testing.T) {
	for _, early := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, Config{}, "latency 10ms")
			var d *lnd.Delivery
			b.parse = func(parsed *lnd.Delivery) (lnd.Answer, error) {
				d = parsed
				if early {
					b.ni.Recv(d)
				}
				return lnd.Hold, nil
			}
			b.fetch()
			pass(time.Second)
			b.empty() // what lnet holds is not kept here
			if !early {
				d.Dropped = true
				b.ni.Recv(d)
			}
			if !slices.Equal(b.dropped, []bool{!early}) || len(b.got) != 1 {
				t.Errorf("dropped %v, lnet got %v", b.dropped, b.got)
			}
		})
	}
}

// TestLateGetGone: if the connection of a delayed GET by RDMA ends, the GET is given up. If it is not due yet,
// lnet never gets it. Later lnet gives it up, even while lnet parses it.
func TestLateGetGone(t *testing.T) {
	for _, when := range []string{"kept", "parsed", "held"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, Config{}, "latency 10ms")
			b.abandons = true
			abandon := func(want bool) {
				b.lost = syscall.ECONNRESET
				if got := b.up.Abandon(b.held); got != want {
					t.Errorf("%s: Abandon returned %v", when, got)
				}
				if want {
					b.held = nil // the driver uses the memory for something else
				}
			}
			b.parse = func(*lnd.Delivery) (lnd.Answer, error) {
				if when == "parsed" {
					abandon(false)
				}
				return lnd.Hold, nil
			}
			b.fetch()
			if when == "kept" {
				abandon(true)
			}
			pass(time.Second)
			if when == "held" {
				abandon(true)
			}
			if b.held != nil || len(b.got) > 0 {
				t.Errorf("%s: the driver waits for %v, lnet got %v", when, b.held, b.got)
			}
			b.empty()
		})
	}
}

// TestLateGetEnds: when the NI ends, or the rule that keeps a GET by RDMA is removed with its messages, the
// driver need not wait for the GET.
func TestLateGetEnds(t *testing.T) {
	for name, end := range map[string]func(*bench){
		"close":  func(b *bench) { Close(b.ni) },
		"stop":   func(b *bench) { b.plan.Stop() },
		"cancel": func(b *bench) { b.plan.RemoveRules(faultrule.Delay, nid.Any(), nid.Any(), true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, Config{})
				b.lnetRule(faultrule.Delay, waits(time.Second))
				b.fetch()
				end(b)
				pass(time.Minute)
				if !slices.Equal(b.dropped, []bool{true}) || len(b.got) > 0 {
					t.Errorf("dropped %v, lnet got %v", b.dropped, b.got)
				}
				b.empty()
			})
		})
	}
}
