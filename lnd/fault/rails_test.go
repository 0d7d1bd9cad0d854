package fault_test

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/fault"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/faultrule"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/node"
)

// startRails starts a node with two NIs on TCP, under a plan if that is not nil.
func startRails(t *testing.T, networks string, port uint16, p *fault.Plan) *node.Node {
	t.Helper()
	cfg := node.Config{Networks: networks, AcceptPort: port, LNet: lnet.Config{TransactionTimeout: 30 * time.Second}}
	if p != nil {
		cfg.Wrap = func(d lnd.Driver) lnd.Driver { return fault.Wrap(d, p) }
	}
	n, err := node.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		if err := n.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return n
}

// TestAllSendsFail: with a rule that fails each message on each NI, every operation ends
// with exactly one event, after a bounded number of attempts; without it, messages pass
// again. Such a rule locks up a kernel node.
func TestAllSendsFail(t *testing.T) {
	spec.Covers(t, "FR-22")
	t.Parallel()
	const puts = 200
	port, err := loopback.FreePort(netip.IPv4Unspecified())
	if err != nil {
		t.Fatal(err)
	}
	plan := fault.New(fault.Config{Clock: machine.RealClock()})
	a := startRails(t, "tcp(127.0.86.1,127.0.86.2)", port, plan)
	b := startRails(t, "tcp(127.0.86.3,127.0.86.4)", port, nil)
	if _, err := a.Discovery().Discover(t.Context(), b.NIDs()[0], false); err != nil {
		t.Fatal(err)
	}
	if err := plan.AddRule(faultrule.Drop, faultrule.Attr{Source: nid.Any(), Dest: nid.Any(), Rate: 1, Classes: 1 << lnd.LocalDropped}); err != nil {
		t.Fatal(err)
	}
	var failed, left atomic.Int64
	md, err := a.Table().MDBind(portals.MD{
		Segments: [][]byte{[]byte("lost")}, Threshold: portals.ThresholdInfinite,
		Handler: func(e *portals.Event) {
			switch {
			case e.Kind == portals.EventSend && e.Err != nil:
				failed.Add(1)
			case e.Kind == portals.EventSend:
				left.Add(1)
			}
		},
	}, portals.Retain)
	if err != nil {
		t.Fatal(err)
	}
	put := portals.PutRequest{MD: md, Target: nid.ProcessID{NID: b.NIDs()[0], PID: nid.LustrePID}, Portal: 20}
	for range puts {
		if err := a.Table().Put(put); err != nil {
			t.Fatal(err)
		}
	}
	if !lndtest.Poll(func() bool { return failed.Load()+left.Load() >= puts }) || failed.Load() != puts || left.Load() != 0 {
		t.Errorf("%d of %d puts failed, %d left", failed.Load(), puts, left.Load())
	}
	if tried := plan.Snapshot().Drop[0].Put; tried < puts || tried > puts*(lnd.DefaultRetryCount+1)+1000 { // 1000 more are allowed for the PUTs of discovery
		t.Errorf("%d PUTs were tried, want at most %d for each", tried, lnd.DefaultRetryCount+1)
	}
	plan.RemoveRules(faultrule.Drop, nid.Any(), nid.Any(), false)
	if err := a.Table().Put(put); err != nil {
		t.Fatal(err)
	}
	if !lndtest.Poll(func() bool { return left.Load() == 1 }) || failed.Load() != puts {
		t.Errorf("after the rule: %d failed, %d left", failed.Load(), left.Load())
	}
}
