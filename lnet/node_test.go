package lnet_test

import (
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// TestAddNIErrors: an NI that does not start leaves nothing behind, and a driver that
// delivers messages before it has started does not hang.
func TestAddNIErrors(t *testing.T) {
	broken := errors.New("test: no such interface")
	for name, c := range map[string]struct {
		driver   *driver
		tunables lnd.Tunables
		want     error
		shut     bool // whether the driver's NI was shut down
	}{
		"driver fails":          {&driver{id: second, startup: func(lnd.Upcalls) error { return broken }}, lnd.Tunables{}, broken, false},
		"NID twice":             {&driver{id: self}, lnd.Tunables{}, syscall.EEXIST, true},
		"negative credits":      {&driver{id: second}, lnd.Tunables{Credits: -1}, syscall.EINVAL, false},
		"negative peer credits": {&driver{id: second}, lnd.Tunables{PeerCredits: -1}, syscall.EINVAL, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, lnd.Tunables{}, lnet.Config{})
			changes := 0
			r.node.OnNIChange(func() { changes++ })
			early := make(chan error, 1)
			inner := c.driver.startup
			c.driver.startup = func(up lnd.Upcalls) error {
				go func() {
					up.PeerUp(nid.ProcessID{NID: peerB})
					_, err := up.Parse(arriving(nil))
					early <- err
				}()
				if inner != nil {
					return inner(up)
				}
				return nil
			}
			_, err := r.node.AddNI(c.driver, lnd.Config{Net: tcp, Tunables: c.tunables})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), "tcp") {
				t.Errorf("error %v, want %v and the net", err, c.want)
			}
			if c.driver.up != nil {
				if err := <-early; !errors.Is(err, syscall.ENETDOWN) {
					t.Errorf("early arrival: %v, want ENETDOWN", err)
				}
			}
			if n := len(r.node.NIs()); n != 1 || changes != 0 || c.driver.closed != c.shut || len(r.node.Snapshot().Peers) != 0 {
				t.Errorf("%d NIs, %d changes, shut down %v, peers %v", n, changes, c.driver.closed, r.node.Snapshot().Peers)
			}
		})
	}
}

// TestAddNIErrno (LN-16): AddNI returns the driver's errno; if the driver has none, the errno
// that LNet's drivers use for an interface that they cannot use. The text is the driver's.
func TestAddNIErrno(t *testing.T) {
	spec.Covers(t, "LN-16")
	broken := errors.New("test: no such interface")
	for _, c := range []struct{ fails, want, no error }{
		{broken, syscall.ENETDOWN, syscall.EADDRINUSE},
		{syscall.EADDRINUSE, syscall.EADDRINUSE, syscall.ENETDOWN},
	} {
		r := newRig(t, lnd.Tunables{}, lnet.Config{})
		_, err := r.node.AddNI(&driver{id: second, startup: func(lnd.Upcalls) error { return c.fails }}, lnd.Config{Net: tcp})
		if !errors.Is(err, c.fails) || !errors.Is(err, c.want) || errors.Is(err, c.no) {
			t.Errorf("%v: error %v, want %v and not %v", c.fails, err, c.want, c.no)
		}
		if want := "start NI on tcp: " + c.fails.Error(); err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	}
}

// TestAddNIWhenDown: no NI can be added to a node that is shut down or is shutting down,
// whether or not the driver has been started yet.
func TestAddNIWhenDown(t *testing.T) {
	for name, startup := range map[string]func(*lnet.Node) error{
		"before the driver": nil,
		"meanwhile":         func(n *lnet.Node) error { return n.Shutdown(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, lnd.Tunables{}, lnet.Config{})
			d := &driver{id: second}
			if startup != nil {
				d.startup = func(lnd.Upcalls) error { return startup(r.node) }
			} else if err := r.node.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := r.node.AddNI(d, lnd.Config{Net: tcp}); !errors.Is(err, syscall.ESHUTDOWN) {
				t.Errorf("error %v, want ESHUTDOWN", err)
			}
			asked := d.up != nil
			if asked != (startup != nil) || d.closed != asked || len(r.node.NIs()) != 0 {
				t.Errorf("driver asked: %v, its NI shut down: %v, %d NIs", asked, d.closed, len(r.node.NIs()))
			}
		})
	}
}

func mustPanic(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", name)
		}
	}()
	f()
}

func TestMisuse(t *testing.T) {
	node := lnet.New(lnet.Config{Clock: machine.RealClock()})
	mustPanic(t, "AddNI before SetUpper", func() { _, _ = node.AddNI(&driver{id: self}, lnd.Config{}) })
	node.SetUpper(&upper{})
	mustPanic(t, "SetUpper twice", func() { node.SetUpper(&upper{}) })
}

// TestNIChanges: watchers run after each change and see the new list, in the order of
// configuration; the counters of a removed NI are kept.
func TestNIChanges(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{PID: 99})
	var seen []string
	r.node.OnNIChange(func() {
		var ids []string
		for _, id := range r.node.IDs() {
			ids = append(ids, id.String())
		}
		seen = append(seen, strings.Join(ids, " "))
	})
	ni, err := r.node.AddNI(&driver{id: self1}, lnd.Config{Net: self1.Net()})
	if err != nil {
		t.Fatal(err)
	}
	d := arriving(nil)
	if _, err := r.ni.Parse(d); err != nil {
		t.Fatal(err)
	}
	r.ni.Delivered(d, nil)
	for range 2 { // the second removal has no effect
		if err := r.node.RemoveNI(t.Context(), r.ni); err != nil {
			t.Fatal(err)
		}
	}
	if !r.ni.Stopping() || ni.Stopping() || r.up.detached != 1 {
		t.Errorf("stopping %v and %v, detached %d times", r.ni.Stopping(), ni.Stopping(), r.up.detached)
	}
	want := "99-10.0.0.1@tcp 99-10.1.0.1@tcp1; 99-10.1.0.1@tcp1"
	if got := strings.Join(seen, "; "); got != want {
		t.Errorf("seen %q, want %q", got, want)
	}
	if s := r.node.Stats(); s.RecvCount != 1 || s.RecvLength != 10 {
		t.Errorf("counters %+v", s)
	}
	if n := len(r.node.Snapshot().Peers); n != 0 {
		t.Errorf("%d peers left behind", n)
	}
}

// TestHeldWhileStopping: Stopping reports true before Detach is called, so that a layer above
// that is about to hold a message can see that the NI is going away.
func TestHeldWhileStopping(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.node.OnNIChange(func() {
		if !r.ni.Stopping() || r.up.detached != 0 {
			t.Errorf("stopping %v, detached %d times", r.ni.Stopping(), r.up.detached)
		}
	})
	if err := r.node.RemoveNI(t.Context(), r.ni); err != nil {
		t.Fatal(err)
	}
}

// TestPeerState: a NID is up as long as one of its processes is connected.
func TestPeerState(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	lustre, user := nid.ProcessID{NID: peerA, PID: nid.LustrePID}, nid.ProcessID{NID: peerA, PID: 7 | nid.UserPID}
	r.ni.PeerUp(lustre)
	r.ni.PeerUp(user)
	r.ni.PeerDown(user, syscall.ECONNRESET)
	if s := r.node.Snapshot().Peers[0]; s.State != lnet.PeerStateUp.String() || s.Cause != "" {
		t.Errorf("state %q, cause %q with one process connected", s.State, s.Cause)
	}
	r.ni.PeerDown(lustre, syscall.ECONNREFUSED)
	if s := r.node.Snapshot().Peers[0]; s.State != lnet.PeerStateDown.String() || s.Cause != syscall.ECONNREFUSED.Error() {
		t.Errorf("state %q, cause %q with none connected", s.State, s.Cause)
	}
}

// TestAbandon: a held delivery whose connection is gone is dropped and
// counted, once.
func TestAbandon(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	d := arriving(nil)
	r.up.held = d
	if !r.ni.Abandon(d) || r.ni.Abandon(arriving(nil)) {
		t.Error("Abandon must report what the layer above says")
	}
	if n := r.node.Stats().DropReasons[lnet.PeerGone.String()]; n != 1 {
		t.Errorf("%d drops, want 1", n)
	}
}

// TestLateArrival: a message of a new peer arrives by an NI that has been removed. It does not create
// a peer, which would never be removed.
func TestLateArrival(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	if err := r.node.RemoveNI(t.Context(), r.ni); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ni.Parse(arriving(nil)); err != nil {
		t.Fatal(err)
	}
	if n := r.node.Stats().DropReasons[lnet.NIShutdown.String()]; n != 1 || len(r.node.Snapshot().Peers) != 0 {
		t.Errorf("%d drops, peers %v", n, r.node.Snapshot().Peers)
	}
}

func TestSnapshot(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.send(peerB, 1)
	r.send(peerA, 2)
	s := r.node.Snapshot()
	if len(s.NIs) != 1 || s.NIs[0].PeerCount != 2 || s.NIs[0].Credits != 254 || s.NIs[0].Tunables.PeerCredits != 8 {
		t.Errorf("NIs %+v", s.NIs)
	}
	if len(s.Peers) != 2 || s.Peers[0].NID != peerA || s.Peers[0].State != "NA" {
		t.Errorf("peers %+v", s.Peers)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"msgs_alloc":2`, `"available_tx_credits":7`, `"nid":"10.0.0.1@tcp"`, `"via":"10.0.0.1@tcp"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("JSON lacks %s: %s", want, b)
		}
	}
}
