package node_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

// TestFaults: what is added spoils messages, is shown, explains what does not
// come, and ends.
func TestFaults(t *testing.T) {
	n := newNode(t)
	ping := func() error {
		_, err := n.Ping(t.Context(), node.PingRequest{Target: self, Timeout: 50 * time.Millisecond})
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
		if err := ping(); !errors.Is(err, syscall.ETIMEDOUT) || !strings.Contains(cli.HintOf(err), "on purpose") {
			t.Errorf("%s: %v, hint %q", statement, err, cli.HintOf(err))
		}
		if s := n.Status().Faults; !s.Active() {
			t.Errorf("%s: %+v", statement, s)
		}
		if err := n.EndFault(end); err != nil {
			t.Fatal(err)
		}
		if err := ping(); err != nil {
			t.Errorf("after %s: %v", statement, err)
		}
	}
	if s := n.Status().Faults; s.Active() || s.Plan.Seed == 0 {
		t.Errorf("%+v", s)
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
