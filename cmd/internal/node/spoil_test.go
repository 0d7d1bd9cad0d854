package node_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// TestFaults: a fault that is added affects messages, is shown in the status, is given as a
// reason when messages do not arrive, and can be ended.
func TestFaults(t *testing.T) {
	n := newNode(t)
	ping := func(limit time.Duration) error {
		_, err := n.Ping(t.Context(), node.PingRequest{Target: self, Timeout: limit})
		return err
	}
	for statement, end := range map[string]node.EndFault{
		"to 0@lo from 0@lo loss 100%": {Rule: 1},
		"pause":                       {Pause: true},
		"cut":                         {Rules: true},
	} {
		added, err := n.AddFault(node.AddFault{Statement: statement})
		if err != nil {
			t.Fatal(err)
		}
		if end.Rule != 0 {
			end.Rule = added.ID
		}
		if err := ping(50 * time.Millisecond); !errors.Is(err, syscall.ETIMEDOUT) || !strings.Contains(cli.HintOf(err), "on purpose") {
			t.Errorf("%s: %v, hint %q", statement, err, cli.HintOf(err))
		}
		if s := n.Status().Faults; !s.Active() {
			t.Errorf("%s: %+v", statement, s)
		}
		if err := n.EndFault(end); err != nil {
			t.Fatal(err)
		}
		if err := ping(waitLimit); err != nil {
			t.Errorf("after %s: %v", statement, err)
		}
	}
	if s := n.Status().Faults; s.Active() || s.Plan.Seed == 0 {
		t.Errorf("%+v", s)
	}
}

// TestEndedWhileWaiting: if the user cancels an operation, the error says so, without a hint to
// check the network.
func TestEndedWhileWaiting(t *testing.T) {
	n := newNode(t)
	if _, err := n.AddFault(node.AddFault{Statement: "pause"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	_, err := n.Ping(ctx, node.PingRequest{Target: self})
	if !errors.Is(err, enough) || cli.HintOf(err) != "" {
		t.Errorf("%v, hint %q", err, cli.HintOf(err))
	}
}

func TestFaultsRefused(t *testing.T) {
	n := newNode(t)
	if _, err := n.AddFault(node.AddFault{Statement: "lose 5%"}); !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), "unknown word") {
		t.Errorf("unknown word: %v", err)
	}
	if err := n.EndFault(node.EndFault{Rule: 7}); !errors.Is(err, syscall.ENOENT) || cli.HintOf(err) == "" {
		t.Errorf("no such rule: %v", err)
	}
	for range 1024 {
		if _, err := n.AddFault(node.AddFault{Statement: "loss 0%"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.AddFault(node.AddFault{Statement: "loss 0%"}); !errors.Is(err, syscall.ENOSPC) || cli.HintOf(err) == "" {
		t.Errorf("too many: %v", err)
	}
}

// TestRemoveNetOfPausedNode: a pause holds messages back. Removing the network does not wait for
// these messages: they fail, and so do the messages queued after them.
func TestRemoveNetOfPausedNode(t *testing.T) {
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.73"))
	if err != nil {
		t.Fatal(err)
	}
	n := newSpoiledNode(t, "127.0.0.73", port, "pause")
	var failed atomic.Int64
	md, err := n.Table().MDBind(portals.MD{Threshold: portals.ThresholdInfinite, Handler: func(e *portals.Event) {
		if errors.Is(e.Err, syscall.ESHUTDOWN) {
			failed.Add(1)
		}
	}}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	const messages = 20 // number of messages, more than the peer has credits
	for range messages {
		if err := n.Table().Put(portals.PutRequest{MD: md, Target: nid.ProcessID{NID: nid.MustParse("127.0.0.74@tcp")}, Portal: 4}); err != nil {
			t.Fatal(err)
		}
	}
	if gone, err := n.RemoveNet(t.Context(), node.RemoveRequest{Net: "tcp"}); err != nil || len(gone.Warnings) > 0 {
		t.Error(gone, err)
	}
	if got := failed.Load(); got != messages || n.Status().Faults.Plan.Held != 0 {
		t.Errorf("%d of %d messages failed, %+v", got, messages, n.Status().Faults.Plan)
	}
}
