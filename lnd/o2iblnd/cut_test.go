package o2iblnd

import (
	"errors"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// virtual is two NIs on a wire in virtual time.
type virtual struct {
	t     *testing.T
	clock *emulator.Clock
	net   *emulator.Network
	at    [2]netip.Addr
	nis   [2]*NI
	ups   [2]*sink
}

func newVirtual(t *testing.T, cfg Config) *virtual {
	v := &virtual{t: t, clock: emulator.NewClock()}
	v.net = emulator.New(emulator.Config{Clock: v.clock, Seed: 1, Faults: emulator.Faults{Delay: 10 * time.Microsecond}})
	open := softroce.NewOpener(softroce.Options{Network: v.net})
	for i, a := range []string{"10.0.0.1", "10.0.0.2"} {
		v.at[i], v.ups[i] = netip.MustParseAddr(a), new(sink)
		v.nis[i] = start(t, v.at[i], open, cfg, v.ups[i], func(c *lnd.Config) { c.Clock = v.clock })
	}
	return v
}

// until lets virtual time pass until cond holds, and fails the test if that takes longer than limit.
func (v *virtual) until(what string, limit time.Duration, cond func(s *sink) bool, s *sink) {
	v.t.Helper()
	for end := v.clock.Now() + limit; ; {
		s.mu.Lock()
		ok := cond(s)
		s.mu.Unlock()
		if ok {
			return
		}
		if !v.clock.Step(end) {
			v.t.Fatalf("no %s in %v: %+v", what, limit, s)
		}
	}
}

// shut ends an NI and returns how long that took.
func (v *virtual) shut(i int) time.Duration {
	began := v.clock.Now()
	ended := make(chan struct{})
	go func() { shut(v.nis[i]); close(ended) }()
	for {
		select {
		case <-ended:
			return v.clock.Now() - began
		case <-time.After(time.Millisecond): // Shutdown waits for the network, so let time pass
			v.clock.Step(machine.Never - 1)
		}
	}
}

// TestCut: if a peer cannot be reached any more the message ends with an error, the peer is
// down, and neither side takes long to shut down.
func TestCut(t *testing.T) { synctest.Test(t, testCut) }

func testCut(t *testing.T) {
	v := newVirtual(t, Config{})
	a, b := v.ups[0], v.ups[1]
	v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, 5000))
	v.until("message", time.Second, func(s *sink) bool { return s.finished == 1 }, a)
	b.mu.Lock()
	b.hold = true
	b.mu.Unlock()
	v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, 5000)) // the PUT_REQ of this message is held
	v.until("held message", time.Second, func(s *sink) bool { return len(s.held) == 1 }, b)
	v.net.Cut(v.at[0], v.at[1], true)
	v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, 100))
	v.until("end", time.Minute, func(s *sink) bool { return s.finished == 3 && len(s.downs) == 1 }, a)
	for _, err := range a.errs {
		if !errors.Is(err, syscall.ECONNABORTED) {
			t.Errorf("ended with %v", err)
		}
	}
	t.Logf("noticed at %v: %v", v.clock.Now(), a.downs)
	v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, 100))
	v.until("unreachable", time.Minute, func(s *sink) bool { return s.finished == 4 }, a)
	if e := new(Error); !errors.As(a.errs[len(a.errs)-1], &e) || e.Reason != Unreachable || e.Errno != syscall.ENETDOWN {
		t.Errorf("asked in vain: %v", a.errs)
	}
	for i := range v.nis {
		if took := v.shut(i); took > 10*time.Second {
			t.Errorf("NI %d took %v to end", i, took)
		}
	}
}

// TestKeepaliveCut: the keepalive of an idle connection detects that its peer cannot be reached.
func TestKeepaliveCut(t *testing.T) {
	v := newVirtual(t, Config{Keepalive: 10 * time.Second})
	a := v.ups[0]
	v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, 10))
	v.until("message", time.Second, func(s *sink) bool { return s.finished == 1 }, a)
	v.clock.Run(v.clock.Now() + time.Minute)
	if len(a.downs) > 0 {
		t.Fatalf("down: %v", a.downs)
	}
	v.net.Cut(v.at[0], v.at[1], true)
	v.until("end", time.Minute, func(s *sink) bool { return len(s.downs) == 1 }, a)
	v.shut(0)
	v.shut(1)
}

// TestStuckPeer: a peer that receives messages and does not process them loses its connection
// after timeout.
func TestStuckPeer(t *testing.T) {
	v := newVirtual(t, Config{Timeout: 10 * time.Second})
	a, b := v.ups[0], v.ups[1]
	b.hold = true
	for range 20 {
		v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, 5000))
	}
	began := v.clock.Now()
	v.until("end", time.Minute, func(s *sink) bool { return s.finished == 20 && len(s.downs) == 1 }, a)
	if took := v.clock.Now() - began; took < 10*time.Second || took > 13*time.Second {
		t.Errorf("noticed after %v", took)
	}
	if !errors.Is(a.downs[0], syscall.ETIMEDOUT) {
		t.Errorf("down because of %v", a.downs[0])
	}
	v.until("abandoned", time.Second, func(s *sink) bool { return s.abandons == 7 }, b)
	v.shut(0)
	v.shut(1)
}

// TestQueueTimeout: a peer refuses each request for a connection in a way that makes this side repeat
// it. Each message that waits for the connection, with priority or without, ends when its own time is
// over, with the reason QueueTimeout (o2iblnd-wire §10).
func TestQueueTimeout(t *testing.T) {
	v := newVirtual(t, Config{})
	defer v.shut(1)
	defer v.shut(0)
	ni, a := v.nis[0], v.ups[0]
	target := v.neverAccepts("10.0.0.3")
	urgent := newMessage(ni, target, 10)
	urgent.Priority = true
	ni.Send(urgent)
	v.clock.Run(v.clock.Now() + 20*time.Second)
	ni.Send(newMessage(ni, target, 10))
	if len(a.errs) > 0 || ni.counts[RejectedStale].Load() < 20 {
		t.Fatalf("too early: %v, %v", a.errs, ni.counts.nonzero())
	}
	v.until("end of the first", 4*time.Second, func(s *sink) bool { return s.finished > 0 }, a)
	v.clock.Run(v.clock.Now() + 18*time.Second)
	if a.finished != 1 {
		t.Errorf("%d messages have ended, want the one that is due: %v", a.finished, a.errs)
	}
	v.until("end of the second", 4*time.Second, func(s *sink) bool { return s.finished == 2 }, a)
	for _, err := range a.errs {
		if e := new(Error); !errors.As(err, &e) || e.Reason != QueueTimeout || e.Errno != syscall.ETIMEDOUT {
			t.Errorf("ended with %v", err)
		}
	}
	if len(a.errs) != 2 || len(a.downs) > 1 || ni.counts[QueueTimeout].Load() != 2 {
		t.Errorf("errors %v, down %v, %v", a.errs, a.downs, ni.counts.nonzero())
	}
}

// neverAccepts makes a peer that refuses each request as stale, and returns its NID.
func (v *virtual) neverAccepts(addr string) nid.NID {
	v.t.Helper()
	at := netip.MustParseAddr(addr)
	dev, err := softroce.NewOpener(softroce.Options{Network: v.net})(verbs.OpenConfig{Addr: at, Clock: v.clock})
	if err != nil {
		v.t.Fatal(err)
	}
	_, err = dev.Listen(v.nis[0].cfg.Service, func(r verbs.Request) {
		stale := kib.Reject{Version: kib.V2, Why: kib.ConnStale, Stamp: 5}
		_ = r.Reject(stale.AppendTo(nil)) // an error means that the NI has gone
	})
	if err != nil {
		v.t.Fatal(err)
	}
	return nid.FromAddr(v.nis[0].nid.Net(), at)
}
