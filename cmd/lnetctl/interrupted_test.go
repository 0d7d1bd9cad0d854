package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// TestInterruptedAfterAnswers: ping and discover print the answers that came before an interrupt.
func TestInterruptedAfterAnswers(t *testing.T) {
	first := nid.MustParse("10.0.0.1@tcp")
	for _, verb := range []string{"ping", "discover"} {
		ctx, interrupt := context.WithCancel(t.Context())
		second := func(ctx context.Context) error {
			interrupt()
			<-ctx.Done()
			return ctx.Err()
		}
		f := &fakeServer{socket: serveNode(t, []control.Route{
			node.OpPing.Do(func(ctx context.Context, r node.PingRequest) (node.PingReply, error) {
				if r.Target.NID == first {
					return node.PingReply{Primary: first}, nil
				}
				return node.PingReply{}, second(ctx)
			}),
			node.OpDiscover.Do(func(ctx context.Context, r node.DiscoverRequest) (node.DiscoverReply, error) {
				if r.Target == first {
					return node.DiscoverReply{Primary: first}, nil
				}
				return node.DiscoverReply{}, second(ctx)
			}),
		}, new(control.Events))}
		code, out, errs := f.lnetctl(ctx, verb, "10.0.0.[1-3]@tcp")
		if code == 0 || !strings.Contains(out, "primary nid: 10.0.0.1@tcp") || strings.Contains(out, "10.0.0.2") || !strings.Contains(errs, "interrupted") {
			t.Errorf("%s: code %d, %q, %q", verb, code, out, errs)
		}
	}
}

// TestDownAfterAnswers: ping prints the answers that came before LNet was taken down on the node.
func TestDownAfterAnswers(t *testing.T) {
	first := nid.MustParse("10.0.0.1@tcp")
	f := &fakeServer{socket: serveNode(t, []control.Route{
		node.OpStatus.Do(control.Told(func() node.Status { return node.Status{Unconfigured: true} })),
		node.OpPing.Do(func(_ context.Context, r node.PingRequest) (node.PingReply, error) {
			if r.Target.NID == first {
				return node.PingReply{Primary: first}, nil
			}
			return node.PingReply{}, syscall.ENETDOWN
		}),
	}, new(control.Events))}
	code, out, errs := f.lnetctl(t.Context(), "ping", "10.0.0.[1-3]@tcp")
	if code == 0 || !strings.Contains(out, "primary nid: 10.0.0.1@tcp") || strings.Contains(out, "10.0.0.2") || !strings.Contains(errs, "errno: -100") {
		t.Errorf("code %d, %q, %q", code, out, errs)
	}
}

// TestImportTogetherInterrupted: if the request that changes settings together was interrupted, import says that all
// of them may be applied.
func TestImportTogetherInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	f := &fakeServer{socket: serveNode(t, []control.Route{
		node.OpStatus.Do(control.Told(func() node.Status { return node.Status{} })),
		node.OpSet.Do(control.Act(func(node.Setting) error { return syscall.EINVAL })),
		node.OpSetTogether.Do(func(ctx context.Context, _ node.SetTogether) error {
			interrupt()
			<-ctx.Done()
			return ctx.Err()
		}),
	}, new(control.Events))}
	file := filepath.Join(t.TempDir(), "lnet.conf")
	if err := os.WriteFile(file, []byte("global:\n  retry_count: 5\n  numa_range: 1\n  transaction_timeout: 50\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := f.lnetctl(ctx, "import", file)
	if code != 234 || !strings.HasSuffix(errs, "# perhaps applied, as the request was interrupted: lines 2, 4\n") || strings.Contains(errs, "nothing was changed") {
		t.Errorf("code %d, %q", code, errs)
	}
}

// TestImportInterrupted: an item whose request was interrupted may be applied or not, and import says so.
func TestImportInterrupted(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"net:\n- net type: tcp\n  local NI(s):\n  - interfaces:\n      0: eth0\n", "# perhaps applied, as the request was interrupted: lines 4\n"},
		{"route:\n- net: tcp1\n  gateway: 10.0.0.1@tcp\n- net: tcp2\n  gateway: 10.0.0.1@tcp\n", "# perhaps applied, as the request was interrupted: lines 2, 4\n"},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		wait := func(ctx context.Context) error {
			interrupt()
			<-ctx.Done()
			return ctx.Err()
		}
		f := &fakeServer{socket: serveNode(t, []control.Route{
			node.OpStatus.Do(control.Told(func() node.Status { return node.Status{} })),
			node.OpAddNetworks.Do(func(ctx context.Context, _ node.AddRequest) error { return wait(ctx) }),
			node.OpAddRoutes.Do(func(ctx context.Context, _ node.AddRoutesRequest) error { return wait(ctx) }),
		}, new(control.Events))}
		file := filepath.Join(t.TempDir(), "lnet.conf")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := f.lnetctl(ctx, "import", file); code != 234 || !strings.HasSuffix(errs, c.want) || strings.Contains(errs, "nothing was changed") {
			t.Errorf("code %d, %q; want %q", code, errs, c.want)
		}
	}
}
