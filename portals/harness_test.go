package portals_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness is a node with loopback only: every operation completes before the
// call that starts it returns.
type harness struct {
	*portals.Table
	t    testing.TB
	self nid.ProcessID
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	node := lnet.New(lnet.Config{Incarnation: 7, Clock: machine.RealClock()})
	h := &harness{Table: portals.New(node), t: t, self: nid.ProcessID{NID: nid.Lo0(), PID: nid.LustrePID}}
	if _, err := node.AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return h
}

// log collects the events of MDs.
type log struct{ events []portals.Event }

func (l *log) handle(e *portals.Event) { l.events = append(l.events, *e) }

// take returns the kinds of the events so far, with "!" behind an event that unlinked its MD,
// and discards the events.
func (l *log) take() []string {
	events := l.events
	l.events = nil
	return kinds(events)
}

func kinds(events []portals.Event) (names []string) {
	for _, e := range events {
		k := e.Kind.String()
		if e.Unlinked {
			k += "!"
		}
		names = append(names, k)
	}
	return names
}

// post attaches an ME with an MD over memory.
func (h *harness) post(portal int, m portals.Match, md portals.MD) (portals.MEHandle, portals.MDHandle) {
	h.t.Helper()
	me, err := h.MEAttach(portal, m, portals.Unlink, portals.After)
	if err != nil {
		h.t.Fatal(err)
	}
	handle, err := h.MDAttach(me, md, portals.Unlink)
	if err != nil {
		h.t.Fatal(err)
	}
	return me, handle
}

// bind binds the MD md and returns its handle.
func (h *harness) bind(md portals.MD) portals.MDHandle {
	h.t.Helper()
	handle, err := h.MDBind(md, portals.Unlink)
	if err != nil {
		h.t.Fatal(err)
	}
	return handle
}

// drops returns the number of drops so far, by reason.
func (h *harness) drops() map[string]uint64 { return h.Node().Stats().DropReasons }

func sameNID(a, b nid.NID) bool { return a == b }
