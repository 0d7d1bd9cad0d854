package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// TestRemoveWithUnsent: an NI whose removal lost messages is removed. The commands say that, and succeed.
func TestRemoveWithUnsent(t *testing.T) {
	remove := func(context.Context, node.RemoveRequest) (node.RemovedNet, error) {
		return node.RemovedNet{Warnings: []string{"7 messages were not sent"}}, nil
	}
	down := func(ctx context.Context, _ node.ConfigureRequest) (node.RemovedNet, error) {
		return remove(ctx, node.RemoveRequest{})
	}
	status := func() node.Status {
		return node.Status{NIs: []node.NIStatus{{NISnapshot: lnet.NISnapshot{NID: nid.MustParse("10.0.0.1@tcp"), Net: "tcp", Interface: "eth0"}}}}
	}
	f := &fakeServer{socket: serveNode(t, []control.Route{node.OpRemoveNet.Do(remove), node.OpConfigure.Do(down), node.OpStatus.Do(control.Told(status))}, new(control.Events))}
	file := filepath.Join(t.TempDir(), "lnet.conf")
	if err := os.WriteFile(file, []byte("net:\n- net type: tcp\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"net", "del", "--net", "tcp"}, "# lnetctl: removed, but: 7 messages were not sent\n"},
		{[]string{"net", "del", "--net", "tcp", "--if", "eth0"}, "# lnetctl: removed, but: 7 messages were not sent\n"},
		{[]string{"net", "del", "--nid", "10.0.0.1@tcp"}, "# lnetctl: removed, but: 7 messages were not sent\n"},
		{[]string{"lnet", "unconfigure"}, "# lnetctl: removed, but: 7 messages were not sent\n"},
		{[]string{"import", "--del", file}, "# warning: line 2: removed, but: 7 messages were not sent\n"},
	} {
		if code, out, errs := f.lnetctl(t.Context(), c.args...); code != 0 || out != "" || errs != c.want {
			t.Errorf("%v: code %d, %q, %q; want %q", c.args, code, out, errs, c.want)
		}
	}
}
