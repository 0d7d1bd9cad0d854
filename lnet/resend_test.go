package lnet_test

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/recovery"
	"ulnet/lnet/wire"
)

// railed is a node with two NIs, whose driver calls onTry for each message, and a peer with
// two NIs.
type railed struct {
	*rig
	// For each try, the NI that sent the message and the NID that it went to, as "NI>NID".
	tries []string
	onTry func(by nid.NID, m *lnd.Message) error // error of each try; nil: the message leaves
	told  []recovery.Input
}

// newRailed returns a node whose NIs finalize each message from inside Send.
func newRailed(t *testing.T, cfg lnet.Config, local, remote int) *railed {
	t.Helper()
	r := &railed{}
	r.rig = newRig(t, lnd.Tunables{}, cfg)
	try := func(d *driver, m *lnd.Message) {
		r.tries = append(r.tries, d.id.String()+">"+m.Target.NID.String())
		var err error
		if r.onTry != nil {
			err = r.onTry(d.id, m)
		}
		d.up.Finalize(m, err)
	}
	r.driver.onSend = try
	if local > 1 {
		if _, err := r.node.AddNI(&driver{id: second, onSend: try}, lnd.Config{Net: tcp}); err != nil {
			t.Fatal(err)
		}
	}
	there := []wire.NIStatus{{NID: peerA, Status: wire.StatusUp}, {NID: peerB, Status: wire.StatusUp}}
	r.node.SetPeer(lnet.Peer{
		Primary: peerA, NIs: there[:remote],
		Flags: lnet.PeerMultiRail | lnet.PeerDiscovered | lnet.PeerNIDsUpToDate,
	})
	r.node.SetRecoverer(func(in recovery.Input) { r.told = append(r.told, in) })
	return r
}

// put sends a PUT, and waits until it has ended, after all its resends.
func (r *railed) put(bits uint64) {
	r.send(peerA, bits)
	synctest.Wait()
}

func fails(class lnd.Failure) func(nid.NID, *lnd.Message) error {
	return func(nid.NID, *lnd.Message) error { return lnd.Failed(class, syscall.ECONNRESET) }
}

// TestResends (HV-7, HV-8) checks which classes of failures cause a resend, how often, and which NIs
// are blamed.
func TestResends(t *testing.T) {
	spec.Covers(t, "HV-7", "HV-8")
	for name, c := range map[string]struct {
		cfg           lnet.Config
		local, remote int
		class         lnd.Failure
		tries         int
		localHealth   int // sum of the health of both local NIs
		remoteHealth  int // sum of the health of both peer NIs
	}{
		"local, two NIs":      {local: 2, remote: 1, class: lnd.LocalDropped, tries: 3, localHealth: 1700, remoteHealth: 2000},
		"local, one NI":       {local: 1, remote: 2, class: lnd.LocalDropped, tries: 1, localHealth: 2000, remoteHealth: 2000},
		"remote, two NIDs":    {local: 1, remote: 2, class: lnd.RemoteDropped, tries: 3, localHealth: 2000, remoteHealth: 1700},
		"remote, one NID":     {local: 2, remote: 1, class: lnd.RemoteDropped, tries: 1, localHealth: 2000, remoteHealth: 2000},
		"not sent again":      {local: 2, remote: 2, class: lnd.RemoteTimeout, tries: 1, localHealth: 2000, remoteHealth: 1900},
		"both are blamed":     {local: 2, remote: 2, class: lnd.NetworkTimeout, tries: 1, localHealth: 1900, remoteHealth: 1900},
		"no class":            {local: 2, remote: 2, class: lnd.FailureNone, tries: 1, localHealth: 2000, remoteHealth: 2000},
		"five times":          {cfg: lnet.Config{RetryCount: 5}, local: 2, remote: 2, class: lnd.LocalDropped, tries: 6, localHealth: 1400, remoteHealth: 2000},
		"never":               {cfg: lnet.Config{RetryCount: -1}, local: 2, remote: 2, class: lnd.LocalDropped, tries: 1, localHealth: 1900, remoteHealth: 2000},
		"more sensitive":      {cfg: lnet.Config{HealthSensitivity: 400}, local: 2, remote: 2, class: lnd.RemoteError, tries: 1, localHealth: 2000, remoteHealth: 1600},
		"not sensitive":       {cfg: lnet.Config{HealthSensitivity: -1}, local: 2, remote: 2, class: lnd.RemoteDropped, tries: 1, localHealth: 2000, remoteHealth: 2000},
		"not sensitive, told": {cfg: lnet.Config{HealthSensitivity: -1, RetryCount: 3}, local: 2, remote: 2, class: lnd.LocalDropped, tries: 1, localHealth: 2000, remoteHealth: 2000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRailed(t, c.cfg, c.local, c.remote)
				r.onTry = fails(c.class)
				r.put(1)
				if len(r.tries) != c.tries {
					t.Errorf("tried by %v, want %d times", r.tries, c.tries)
				}
				r.wantResult(1, syscall.ECONNRESET)
				r.wantHealth(c.localHealth, c.remoteHealth)
				s := r.node.Stats()
				want := lnet.FailureStats{ResendCount: uint64(c.tries - 1)}
				if c.tries > 1 {
					want.FailedResends = 1
				}
				if s.ResendCount != want.ResendCount || s.FailedResends != want.FailedResends || s.SuccessfulResends != 0 || s.Errors != 1 {
					t.Errorf("%+v, want %+v", s, want)
				}
			})
		})
	}
}

// wantHealth checks two sums: of the health of both NIs of the node, and of both NIs of the peer. An NI that does not
// exist counts 1000.
func (r *railed) wantHealth(local, remote int) {
	r.t.Helper()
	sum := func(targets ...recovery.Target) (sum int) {
		for _, target := range targets {
			if h, _, ok := r.node.Condition(target); ok {
				sum += h
			} else {
				sum += path.MaxHealth
			}
		}
		return sum
	}
	l := sum(recovery.Target{NID: self, Local: true}, recovery.Target{NID: second, Local: true})
	p := sum(recovery.Target{NID: peerA}, recovery.Target{NID: peerB})
	if l != local || p != remote {
		r.t.Errorf("health %d here and %d there, want %d and %d", l, p, local, remote)
	}
}

// TestResentElsewhere: the next try uses the healthy NI, and its success is counted; the
// layer above gets the end of the message once.
func TestResentElsewhere(t *testing.T) {
	spec.Covers(t, "HV-9")
	synctest.Test(t, func(t *testing.T) {
		r := newRailed(t, lnet.Config{}, 2, 2)
		r.onTry = func(by nid.NID, _ *lnd.Message) error {
			if by == self {
				return lnd.Failed(lnd.LocalDropped, syscall.EIO)
			}
			return nil
		}
		for bits := range uint64(20) {
			r.put(bits)
			r.wantResult(bits, nil)
		}
		if len(r.up.order) != 20 {
			t.Errorf("told %d times of 20 messages", len(r.up.order))
		}
		s := r.node.Stats()
		if s.ResendCount != 1 || s.SuccessfulResends != 1 || s.LocalDropped != 1 || s.SendCount != 20 || s.Errors != 0 {
			t.Errorf("%+v, want one resend, which succeeded", s)
		}
		for i, by := range r.tries[1:] {
			if by[:len(second.String())] != second.String() {
				t.Errorf("try %d by %s, want %v", i+1, by, second)
			}
		}
	})
}

// TestResentToOther: a message of a node with one NI cannot be sent to one of the peer's two NIDs, because no connection to
// it can be made. The message is sent again to the other NID. Later messages avoid the first one, so that none of them
// fails while the driver does not dial it again.
func TestResentToOther(t *testing.T) {
	spec.Covers(t, "HV-9")
	synctest.Test(t, func(t *testing.T) {
		r := newRailed(t, lnet.Config{}, 1, 2)
		class := lnd.RemoteDropped
		r.onTry = func(_ nid.NID, m *lnd.Message) error {
			if m.Target.NID != peerA {
				return nil
			}
			err := lnd.Failed(class, syscall.EMFILE)
			class = lnd.RemoteError // the driver does not dial again at once
			return err
		}
		for bits := range uint64(20) {
			r.put(bits)
			r.wantResult(bits, nil)
		}
		if s := r.node.Stats(); s.ResendCount != 1 || s.SuccessfulResends != 1 || s.RemoteDropped != 1 || s.Errors != 0 {
			t.Errorf("%+v, want one resend, which succeeded", s)
		}
	})
}

// TestNotResent (HV-8) checks the events that end a message although the class of its failure would
// allow another try.
func TestNotResent(t *testing.T) {
	spec.Covers(t, "HV-8")
	for name, c := range map[string]struct {
		prepare func(r *railed, m *lnet.Message)
		want    error
	}{
		"aborted": {func(r *railed, m *lnet.Message) {
			m.Aborted = new(atomic.Bool)
			r.onTry = func(nid.NID, *lnd.Message) error {
				m.Aborted.Store(true)
				return lnd.Failed(lnd.LocalDropped, syscall.EIO)
			}
		}, syscall.EIO},
		"aborted while it waits for the next try": {func(r *railed, m *lnet.Message) {
			m.Aborted = new(atomic.Bool)
			r.onTry = fails(lnd.LocalDropped)
			go func() { m.Aborted.Store(true) }()
		}, nil},
		"a ping of recovery": {func(r *railed, m *lnet.Message) {
			m.Recovery = true
			r.onTry = fails(lnd.LocalDropped)
		}, syscall.ECONNRESET},
		"its deadline is over": {func(r *railed, _ *lnet.Message) {
			r.onTry = func(nid.NID, *lnd.Message) error {
				time.Sleep(150 * time.Second)
				return lnd.Failed(lnd.LocalDropped, syscall.EIO)
			}
		}, syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRailed(t, lnet.Config{}, 2, 2)
				m := put(peerA, 1)
				c.prepare(r, m)
				r.node.Send(m)
				synctest.Wait()
				if err, ended := r.up.result(1); !ended || err == nil || c.want != nil && !errors.Is(err, c.want) || len(r.up.order) != 1 {
					t.Errorf("ended %v with %v, want once with %v", ended, err, c.want)
				}
				if c.want != nil && len(r.tries) != 1 {
					t.Errorf("tried by %v, want once", r.tries)
				}
				if c.want != nil && c.want != syscall.EIO || name == "its deadline is over" {
					r.wantHealth(2000, 2000)
				}
			})
		})
	}
}

// unhurried is a clock whose timers of 0 never fire. Second tries begin by such timers, so none
// is made.
type unhurried struct{ machine.Clock }

func (c unhurried) AfterFunc(d time.Duration, f func()) machine.Timer {
	if d == 0 {
		return never{}
	}
	return c.Clock.AfterFunc(d, f)
}

// timerless is a clock that runs no timers.
type timerless struct{ machine.Clock }

func (timerless) AfterFunc(time.Duration, func()) machine.Timer { return never{} }

type never struct{}

func (never) Stop() bool { return true }

// TestResendEnds: messages that wait for another try fail when the node shuts down. If the
// second try of a message finds no NI, the message fails with an error that says so.
func TestResendEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRailed(t, lnet.Config{Clock: unhurried{machine.RealClock()}}, 2, 2)
		r.onTry = fails(lnd.LocalDropped)
		for bits := range uint64(10) {
			r.send(peerA, bits)
		}
		if err := r.node.Shutdown(over()); err != nil {
			t.Fatal(err)
		}
		for bits := range uint64(10) {
			r.wantResult(bits, syscall.ESHUTDOWN)
		}
		if len(r.tries) != 10 || len(r.up.order) != 10 {
			t.Errorf("%d tries of 10 messages, told %d", len(r.tries), len(r.up.order))
		}
	})
}

// TestHeals (HV-6): a message that leaves raises the health of its NI. A message that arrives raises the
// health of the NI and of the peer NI. A message that breaks off half-way lowers the health of the peer NI.
func TestHeals(t *testing.T) {
	spec.Covers(t, "HV-6")
	synctest.Test(t, func(t *testing.T) {
		r := newRailed(t, lnet.Config{}, 2, 2)
		for _, id := range []nid.NID{self, second} {
			if err := r.node.SetNIHealth(id, 500); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []nid.NID{peerA, peerB} {
			if err := r.node.SetPeerHealth(id, 950); err != nil {
				t.Fatal(err)
			}
		}
		r.wantHealth(1000, 1900)
		r.put(1)
		r.wantHealth(1100, 1900) // a message that leaves raises the health of the NI by 100, and not that of the peer NI
		r.arrive(peerA, nil)
		r.wantHealth(1200, 1950)
		r.arrive(peerA, nil)
		r.wantHealth(1300, 1950)
		r.arrive(peerB, syscall.EIO) // the message breaks off half-way
		r.wantHealth(1300, 1850)

		r.node.SetRoutes([]*path.Gateway{{Net: nid.MustParseNet("tcp9"), Router: peerB}})
		r.arrive(peerB, nil)
		r.wantHealth(1400, 2000) // a message of a router restores the full health of the router's NI
	})
}

// arrive makes a PUT of a peer arrive at the first NI, whole or, with an error, cut off.
func (r *railed) arrive(from nid.NID, cut error) {
	d := &lnd.Delivery{From: nid.ProcessID{NID: from, PID: nid.LustrePID}}
	d.Header.SrcNID, d.Header.SrcPID, d.Header.DestNID = from, nid.LustrePID, self
	d.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle()})
	if _, err := r.ni.Parse(d); err != nil {
		r.t.Fatal(err)
	}
	r.ni.Delivered(d, cut)
}

// TestHealthSettings (HV-7, HV-13): settings that make no sense are refused. A driver's
// time-out follows from the transaction timeout and the number of retries.
func TestHealthSettings(t *testing.T) {
	spec.Covers(t, "HV-7", "HV-13")
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	usual := r.node.Health()
	if usual.LNDTimeout() != 49*time.Second || r.timeout() != 49*time.Second {
		t.Errorf("drivers have %v, want 49 s", usual.LNDTimeout())
	}
	for name, change := range map[string]func(*lnet.HealthSettings){
		"sensitivity":         func(s *lnet.HealthSettings) { s.Sensitivity = 1001 },
		"retries":             func(s *lnet.HealthSettings) { s.RetryCount = 6 },
		"timeout":             func(s *lnet.HealthSettings) { s.TransactionTimeout = 2 * time.Second },
		"retries without any": func(s *lnet.HealthSettings) { s.Sensitivity = 0 },
		"interval":            func(s *lnet.HealthSettings) { s.Recovery.MaxInterval = -1 },
	} {
		s := usual
		change(&s)
		if err := r.node.SetHealth(s); !errors.Is(err, syscall.EINVAL) || r.node.Health() != usual {
			t.Errorf("%s: %v, want EINVAL", name, err)
		}
	}
	s := usual
	s.TransactionTimeout, s.RetryCount = 61*time.Second, 4
	if err := r.node.SetHealth(s); err != nil || r.node.TransactionTimeout() != 61*time.Second {
		t.Error(err)
	}
	if _, err := r.node.AddNI(&driver{id: second}, lnd.Config{Net: tcp}); err != nil || r.timeout() != 12*time.Second {
		t.Errorf("%v, the next driver has %v, want 12 s", err, r.timeout())
	}
}

// timeout returns the time-out of the driver of the NI that was added last.
func (r *rig) timeout() time.Duration {
	nis := r.node.Snapshot().NIs
	return nis[len(nis)-1].Tunables.Timeout
}

// TestResponseTimeout (HV-12): a missing answer lowers the health of the NID to which the
// request went, if its node has several NIDs.
func TestResponseTimeout(t *testing.T) {
	spec.Covers(t, "HV-12")
	for _, c := range []struct{ remote, health int }{{1, 2000}, {2, 1900}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRailed(t, lnet.Config{}, 1, c.remote)
			var hop nid.NID
			r.up.onSent = func(m *lnet.Message, _ error) { hop, _ = m.NextHop() }
			r.put(1)
			r.node.CountResponseTimeout(hop, 0)
			r.node.CountResponseTimeout(nid.NID{}, 0) // no next hop is known for this request, as no path was chosen for it: no NI is blamed
			r.wantHealth(2000, c.health)
			if n := r.node.Stats().ResponseTimeouts; n != 2 {
				t.Errorf("%d counted, want 2", n)
			}
		})
	}
}
