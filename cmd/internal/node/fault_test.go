package node_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// TestFail: after a request to fail, every operation that starts a PUT or GET fails, as many
// times as requested, with a hint about the cause. The status shows how many failures are still
// to come.
func TestFail(t *testing.T) {
	n := newNode(t)
	operations := map[string]func() error{
		"ping": func() error { _, err := n.Ping(t.Context(), node.PingRequest{Target: self}); return err },
		"put": func() error {
			return n.Put(t.Context(), node.PutRequest{Target: self, Portal: 1}, strings.NewReader("x"), ignore)
		},
		"get": func() error {
			return n.Get(t.Context(), node.GetRequest{Target: self, Portal: 1, Length: 1}, ignore)
		},
	}
	want := node.Faults{Fail: []lnet.FailedNID{{NID: self.NID, Count: 3}}}
	if err := n.Fail(node.FailRequest(want.Fail[0])); err != nil {
		t.Fatal(err)
	}
	for name, run := range operations {
		if diff := cmp.Diff(want.Fail, n.Status().Faults.Fail, cmpopts.EquateComparable(nid.NID{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("faults before %s (-want +got):\n%s", name, diff)
		}
		err := run()
		if !errors.Is(err, syscall.EIO) || !strings.Contains(cli.HintOf(err), "fault list") {
			t.Errorf("%s: %v, hint %q", name, err, cli.HintOf(err))
		}
		want.Fail[0].Count--
	}
	if left := n.Status().Faults.Fail; len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if err := operations["ping"](); err != nil {
		t.Errorf("ping when all have failed: %v", err)
	}
}

// TestFailRefused: Fail refuses a request without a NID, and one for which the list has no room,
// with a hint.
func TestFailRefused(t *testing.T) {
	n := newNode(t)
	if err := n.Fail(node.FailRequest{Count: 1}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("no NID: %v, want EINVAL", err)
	}
	for range 1024 {
		if err := n.Fail(node.FailRequest{NID: self.NID, Count: 1}); err != nil {
			t.Fatal(err)
		}
	}
	one := node.FailRequest{NID: self.NID, Count: 1}
	if err := n.Fail(one); !errors.Is(err, syscall.ENOSPC) || cli.HintOf(err) == "" {
		t.Errorf("too many: %v, want ENOSPC and a hint", err)
	}
	if err := errors.Join(n.Fail(node.FailRequest{NID: nid.Any()}), n.Fail(one)); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}
