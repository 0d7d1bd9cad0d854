package discovery

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery/engine"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/portals"
)

// mute is a driver that loses all messages.
type mute struct {
	lnd.NI
	up     lnd.Upcalls
	onSend atomic.Pointer[func()] // called by the next Send; nil: no call
	closed int                    // number of calls of ClosePeer
}

func (*mute) Type() nid.NetType              { return nid.MustParseNet("tcp").Type() }
func (*mute) NID() nid.NID                   { return nid.MustParse("10.0.0.1@tcp") }
func (*mute) Shutdown(context.Context) error { return nil }

func (m *mute) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	m.up = up
	return m, nil
}

// ClosePeer implements lnd.PeerCloser.
func (m *mute) ClosePeer(nid.NID, uint64, error) { m.closed++ }

func (m *mute) Send(lm *lnd.Message) {
	if f := m.onSend.Swap(nil); f != nil {
		(*f)()
	}
	m.up.Finalize(lm, nil)
}

// hookClock is a clock that can call a function once, when the time is asked for.
type hookClock struct {
	machine.Clock
	onNow atomic.Pointer[func()] // called by the next Now; nil: no call
}

func (c *hookClock) Now() time.Duration {
	if f := c.onNow.Swap(nil); f != nil {
		(*f)()
	}
	return c.Clock.Now()
}

// newMute returns an agent whose driver loses all messages.
func newMute(t *testing.T) (*Agent, *mute) {
	node, driver := lnet.New(lnet.Config{Incarnation: 7, Clock: &hookClock{Clock: machine.RealClock()}}), new(mute)
	table := portals.New(node)
	if _, err := node.AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}); err != nil {
		t.Fatal(err)
	}
	a, err := New(table, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = a.Close(context.Background())
		if err := node.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := node.AddNI(driver, lnd.Config{Net: nid.MustParseNet("tcp")}); err != nil {
		t.Fatal(err)
	}
	return a, driver
}

// put adds an input to the inbox and does not step the machine, as if another goroutine were stepping it. It may be
// called with a.mu locked.
func (a *Agent) put(in engine.Input) {
	if a.mu.TryLock() {
		defer a.mu.Unlock()
	}
	a.inbox = append(a.inbox, request{Input: in})
}

// deleteMeanwhile deletes the route to a gateway while a goroutine tells discovery of the gateways, and then calls f
// in that goroutine.
func deleteMeanwhile(t *testing.T, f func(a *Agent)) *Agent {
	a, driver := newMute(t)
	r := route.New(nid.MustParseNet("tcp7"), nid.MustParse("10.0.0.9@tcp"))
	if err := a.node.AddRoute(r); err != nil {
		t.Fatal(err)
	}
	// The discovery of another node comes while the agent is told of the gateways, so the agent sends a ping then.
	refresh := func() { a.put(engine.Input{Kind: engine.Refresh, NID: nid.MustParse("10.0.0.8@tcp")}) }
	a.node.Clock().(*hookClock).onNow.Store(&refresh)
	deleted := false
	onSend := func() {
		deleted = true
		if err := a.node.DeleteRoute(r.Net, r.Gateway); err != nil {
			t.Error(err)
		}
		f(a)
	}
	driver.onSend.Store(&onSend)
	a.checks.changed()
	if !deleted {
		t.Fatal("no message was sent")
	}
	return a
}

// wantUnchecked reports an error if a gateway is still checked.
func (a *Agent) wantUnchecked(t *testing.T) {
	t.Helper()
	var out route.CheckOutput
	a.checks.mu.Lock()
	wake := a.checks.checker.Step(a.node.Clock().Now()+time.Hour, route.CheckInput{}, &out)
	a.checks.mu.Unlock()
	if len(out.Changes) != 0 || len(out.Checks) != 0 || wake != machine.Never {
		t.Errorf("the gateway is still checked: %+v, next at %v", out, wake)
	}
}

// TestDeletedMeanwhile: a route is deleted while discovery is told of the gateways because an NI has changed. Its
// gateway is no longer checked.
func TestDeletedMeanwhile(t *testing.T) {
	spec.Covers(t, "RT-6")
	deleteMeanwhile(t, func(*Agent) {}).wantUnchecked(t)
}

// TestDeletedAtOnce: when DeleteRoute returns, the gateway is no longer checked, and discovery gets the routes before
// all inputs that follow, although another goroutine steps it.
func TestDeletedAtOnce(t *testing.T) {
	spec.Covers(t, "RT-6")
	deleteMeanwhile(t, func(a *Agent) {
		a.wantUnchecked(t)
		a.mu.Lock()
		defer a.mu.Unlock()
		if n := len(a.inbox); n == 0 || a.inbox[n-1].Kind != engine.RoutesAre || len(a.inbox[n-1].Gateways) > 0 {
			t.Errorf("the inbox of discovery has %+v", a.inbox)
		}
	})
}

// TestAnswerWaits: the time of a check is over, but the gateway's answer comes with an input that still waits in the
// inbox of discovery. The answer counts: the gateway is not declared dead. This holds when the timer of the check runs
// and, if the timer is late, when a change of the gateways steps the checker.
func TestAnswerWaits(t *testing.T) {
	spec.Covers(t, "RT-7")
	for _, late := range []bool{true, false} {
		answerWaits(t, late)
	}
}

func answerWaits(t *testing.T, late bool) {
	synctest.Test(t, func(t *testing.T) {
		a, driver := newMute(t)
		a.checks.set(time.Minute, time.Second)
		r := route.New(nid.MustParseNet("tcp7"), nid.MustParse("10.0.0.9@tcp"))
		if err := a.node.AddRoute(r); err != nil {
			t.Fatal(err)
		}
		a.checks.step(route.CheckInput{Kind: route.Answered, Exchange: 1})
		time.Sleep(time.Minute + time.Second/2) // the second check is under way
		if late {
			a.checks.mu.Lock()
			a.checks.alarm.Stop()
			a.checks.mu.Unlock()
			time.Sleep(2 * time.Second)
		}
		a.put(engine.Input{Kind: engine.Refresh, NID: nid.MustParse("10.0.0.8@tcp")})
		answer := func() { a.checks.step(route.CheckInput{Kind: route.Answered, Exchange: 2}) }
		driver.onSend.Store(&answer)
		if late {
			a.checks.changed()
		} else {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if driver.onSend.Load() != nil {
			t.Fatal("no message was sent")
		}
		// The gateway's answer does not say that it is a router, so the route is down for that reason.
		if now := a.node.Routes()[0]; now.Reason != "the gateway says that it does not route" || driver.closed > 0 {
			t.Errorf("timer late %v: the route is %+v, and connections to its gateway were closed %d times", late, now.State, driver.closed)
		}
	})
}

// TestRoutesJoined: routes change often while another goroutine steps discovery. The inbox of discovery then keeps only
// the latest list of gateways.
func TestRoutesJoined(t *testing.T) {
	spec.Covers(t, "RT-6")
	deleteMeanwhile(t, func(a *Agent) {
		for range 100 {
			a.checks.changed()
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if n := len(a.inbox); n != 1 {
			t.Errorf("%d inputs wait", n)
		}
	})
}
