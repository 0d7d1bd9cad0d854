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

// TestClosedByTimeout: when the timeout is lowered, a message that has waited longer than that ends, and the
// handler of that end closes the agent. The agent noticed the new timeout while it handled a request for
// discovery. After Close that request has no effect.
func TestClosedByTimeout(t *testing.T) {
	spec.Covers(t, "PD-17")
	w, clock := newCable(t), new(handClock)
	w.clock = clock
	a := w.node(discovery.Config{}, nidA)
	ended := false
	md, err := a.table.MDBind(portals.MD{Segments: []lnd.Segment{nil}, Threshold: 1, Handler: func(e *portals.Event) {
		ended = true
		if err := a.agent.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}}, portals.Unlink)
	if err == nil {
		err = a.table.Put(portals.PutRequest{MD: md, Target: nid.ProcessID{NID: nid.MustParse(nidB)}, Portal: 5})
	}
	if err != nil {
		t.Fatal(err)
	}
	clock.advance(w, 20*time.Second)
	s := a.table.Node().Health()
	s.TransactionTimeout = 10 * time.Second
	if err := a.table.Node().SetHealth(s); err != nil {
		t.Fatal(err)
	}
	pings := a.agent.Stats().Pings
	a.put("10.0.0.77@tcp", 1) // this message asks for a discovery, and only then the agent notices the new timeout
	if n := a.agent.Stats().Pings - pings; !ended || n != 0 {
		t.Errorf("the first message ended: %v; %d pings after Close", ended, n)
	}
}
