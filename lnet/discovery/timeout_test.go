package discovery_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// TestTransactionTimeoutChanges: the transaction timeout of the node is that of discovery, also after it was changed while the
// node runs. A message to a node that does not answer fails after that time.
func TestTransactionTimeoutChanges(t *testing.T) {
	spec.Covers(t, "PD-17")
	w, clock := newCable(t), new(handClock)
	w.clock = clock
	a := w.node(discovery.Config{}, nidA)
	for _, timeout := range []time.Duration{20 * time.Second, time.Minute, 30 * time.Second} {
		s := a.table.Node().Health()
		s.TransactionTimeout = timeout
		if err := a.table.Node().SetHealth(s); err != nil {
			t.Fatal(err)
		}
		a.sent = nil
		a.put(nidB, 1) // no node has this NID
		clock.advance(w, timeout-time.Second)
		if len(a.sent) > 0 {
			t.Fatalf("%v: ended too early: %v", timeout, a.sent)
		}
		clock.advance(w, 2*time.Second)
		if len(a.sent) != 1 || !errors.Is(a.sent[0], syscall.ETIMEDOUT) {
			t.Errorf("%v: the message ended with %v", timeout, a.sent)
		}
	}
}

// TestTimeoutLoweredBetweenTries: the transaction timeout is lowered while discovery waits for an answer and has
// nothing to do for long. It ends when the new timeout has passed.
func TestTimeoutLoweredBetweenTries(t *testing.T) {
	spec.Covers(t, "PD-17")
	w, clock := newCable(t), new(handClock)
	w.clock = clock
	a := w.node(discovery.Config{}, nidA)
	a.put(nidB, 1)                   // no node has this NID
	clock.advance(w, 46*time.Second) // the ping is repeated after 45 s and 93 s
	s := a.table.Node().Health()
	s.TransactionTimeout = 60 * time.Second
	if err := a.table.Node().SetHealth(s); err != nil {
		t.Fatal(err)
	}
	clock.advance(w, 13*time.Second)
	if len(a.sent) > 0 {
		t.Errorf("before the new timeout the message has ended with %v", a.sent)
	}
	clock.advance(w, 2*time.Second)
	if len(a.sent) != 1 || !errors.Is(a.sent[0], syscall.ETIMEDOUT) {
		t.Errorf("after the new timeout the message has ended with %v", a.sent)
	}
}

// TestResponseTimeoutEnds: a ping that LNet gives up, because no answer came within the transaction timeout, fails in discovery
// too, whose own limit is longer.
func TestResponseTimeoutEnds(t *testing.T) {
	spec.Covers(t, "PD-17")
	w, clock := newCable(t), new(handClock)
	w.clock = clock
	a := w.node(discovery.Config{Limits: discovery.Limits{Timeout: time.Hour}}, nidA)
	s := a.table.Node().Health()
	s.TransactionTimeout = 10 * time.Second
	if err := a.table.Node().SetHealth(s); err != nil {
		t.Fatal(err)
	}
	a.put(nidB, 1) // no node has this NID
	clock.advance(w, 16*time.Second)
	if len(a.sent) != 1 || !errors.Is(a.sent[0], syscall.ETIMEDOUT) {
		t.Errorf("after one and a half transaction timeouts the message has ended with %v", a.sent)
	}
}

// TestClosedByTimeout: while the agent handles inputs, the timeout is lowered. That ends a message, and the end of the message
// closes the agent. The next input changes nothing after that.
func TestClosedByTimeout(t *testing.T) {
	spec.Covers(t, "PD-17")
	w, clock := newCable(t), new(handClock)
	w.clock = clock
	a := w.node(discovery.Config{}, nidA)
	ended := false
	a.putThen(nidB, func() {
		ended = true
		if err := a.agent.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	clock.advance(w, 20*time.Second)
	w.refuse = func(m *lnd.Message) error {
		if m.Target.NID.String() == "10.0.0.66@tcp" {
			return syscall.EHOSTUNREACH
		}
		return nil
	}
	pings := a.agent.Stats().Pings
	a.putThen("10.0.0.66@tcp", func() { // this is called while the agent handles the failure of the ping
		a.put("10.0.0.77@tcp", 1) // this message needs a discovery
		s := a.table.Node().Health()
		s.TransactionTimeout = 10 * time.Second
		if err := a.table.Node().SetHealth(s); err != nil {
			t.Error(err)
		}
	})
	if n := a.agent.Stats().Pings - pings; !ended || n != 1 {
		t.Errorf("the first message ended: %v; %d pings, want the one that failed", ended, n)
	}
}

// putThen sends a PUT without payload to a node, and calls then when it has ended.
func (n *node) putThen(to string, then func()) {
	n.t.Helper()
	md, err := n.table.MDBind(portals.MD{Segments: []lnd.Segment{nil}, Threshold: 1, Handler: func(*portals.Event) { then() }}, portals.Unlink)
	if err == nil {
		err = n.table.Put(portals.PutRequest{MD: md, Target: nid.ProcessID{NID: nid.MustParse(to)}, Portal: 5})
	}
	if err != nil {
		n.t.Fatal(err)
	}
}
