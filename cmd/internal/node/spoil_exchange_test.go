package node_test

import (
	"context"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnd"
	"ulnet/lnd/fault"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// TestExchangeUnderFaults: two nodes exchange messages over TCP. Faults on both nodes lose,
// double, delay and reorder the messages. The number of messages that arrive is exactly the one
// that follows from the counters of the faults. Every PUT has its SEND event, and all credits
// come back.
func TestExchangeUnderFaults(t *testing.T) {
	const messages = 2000
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.71"), netip.MustParseAddr("127.0.0.72"))
	if err != nil {
		t.Fatal(err)
	}
	const effects = "loss 5% duplicate 20% reorder 20% latency 1ms±1ms"
	a := newSpoiledNode(t, "127.0.0.71", port, "type PUT portal 4 "+effects, "type ACK "+effects)
	b := newSpoiledNode(t, "127.0.0.72", port, "type PUT portal 4 "+effects)
	var arrived int64
	var sent, failed, acked atomic.Int64
	got := make(chan struct{}, 4*messages) // room for four copies of each message
	receive(t, b.Table(), got)
	count := func(e *portals.Event) {
		switch {
		case e.Err != nil:
			failed.Add(1)
		case e.Kind == portals.EventSend:
			sent.Add(1)
		case e.Kind == portals.EventAck:
			acked.Add(1)
		}
	}
	sendPuts(t, a.Table(), nid.MustParse("127.0.0.72@tcp"), messages, count)
	if !lndtest.Poll(func() bool { return sent.Load()+failed.Load() == messages }) || failed.Load() > 0 {
		t.Errorf("%d of %d were sent, %d failed", sent.Load(), messages, failed.Load())
	}
	// Faults duplicate ACKs, so more of them arrive than PUTs were sent. portals accepts as many ACKs
	// as there were PUTs: the copy of one ACK counts in place of another one that was lost. The exception
	// is a PUT whose latency portals measures, of which an MD has at most 8 at a time. It accepts only its
	// own ACK, so it has no ACK event if this ACK was lost.
	const timed = 8
	settled := func() bool {
		for n := len(got); n > 0; n-- { // n is fixed: a message that arrives meanwhile counts at the next call
			<-got
			arrived++
		}
		atA, atB := a.Status().Faults.Plan, b.Status().Faults.Plan
		return arrived == survivors(messages, atA.Rules[0], atB.Rules[0]) &&
			acked.Load() >= messages-timed && atA.Held+atB.Held == 0
	}
	if !lndtest.Poll(settled) {
		t.Errorf("%d arrived, %d were acknowledged", arrived, acked.Load())
		for _, n := range []*node.Node{a, b} {
			t.Logf("faults %+v\nstatistics %+v", n.Status().Faults.Plan, n.Table().Node().Snapshot().Stats)
		}
	}
	if n := acked.Load(); n > messages {
		t.Errorf("%d ACKs of %d PUTs", n, messages)
	}
	peers := func() []lnet.PeerSnapshot {
		return append(a.Peers(nid.NID{}, 10).Peers, b.Peers(nid.NID{}, 10).Peers...)
	}
	busy := func(p lnet.PeerSnapshot) bool { return p.Credits != p.MaxCredits || p.QueuedBytes != 0 }
	if !lndtest.Poll(func() bool { return !slices.ContainsFunc(peers(), busy) }) { // repeated, because a duplicate of an ACK may still be on its way
		t.Errorf("credits are missing, or messages queued: %+v", peers())
	}
	for _, s := range []node.Status{a.Status(), b.Status()} {
		if s.Faults.Plan.Overflowed+s.Faults.Plan.Refused > 0 {
			t.Errorf("%+v", s.Faults.Plan)
		}
	}
}

// sendPuts sends n PUTs of 1000 bytes to portal 4 and asks for their ACKs.
func sendPuts(t *testing.T, table *portals.Table, to nid.NID, n int, handler func(*portals.Event)) {
	t.Helper()
	md, err := table.MDBind(portals.MD{
		Segments: []lnd.Segment{make([]byte, 1000)}, Threshold: portals.ThresholdInfinite, Handler: handler,
	}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	target := nid.ProcessID{NID: to, PID: nid.LustrePID}
	for range n {
		if err := table.Put(portals.PutRequest{MD: md, Target: target, Portal: 4, Ack: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// survivors returns how many of n messages arrive under the rules, copies included.
func survivors(n int64, rules ...fault.RuleState) int64 {
	for _, r := range rules {
		n += int64(r.Duplicated) - int64(r.Lost)
	}
	return n
}

// newSpoiledNode starts a node on a loopback address, with faults from a seed.
func newSpoiledNode(t *testing.T, addr string, port uint16, faults ...string) *node.Node {
	t.Helper()
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort, cfg.FaultSeed, cfg.Faults = "tcp("+addr+")", int(port), 7, faults
	n, err := node.New(node.Config{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return n
}
