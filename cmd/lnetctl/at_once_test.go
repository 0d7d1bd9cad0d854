package main

import (
	"strings"
	"testing"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

// TestManyAtOnce: 'peer add' and 'route add' take ranges of up to 16384 peers and routes, and send one request for all
// of a range. Larger ranges are refused in the form of the kernel's tool.
func TestManyAtOnce(t *testing.T) {
	const block = " 10.%.[0-15].[0-255]" // 4096 addresses
	blocks := func(n int) (s string) {
		for i := range n {
			s += strings.ReplaceAll(block, "%", string(rune('0'+i)))
		}
		return "tcp" + s
	}
	got := make(chan int, 1)
	f := &fakeServer{socket: serveNode(t, []control.Route{
		node.OpAddPeer.Do(control.Act(func(r node.AddPeerRequest) error { got <- 1 + len(r.NIDs) + len(r.Peers); return nil })),
		node.OpRemovePeer.Do(control.Act(func(r node.RemovePeerRequest) error { got <- 1 + len(r.NIDs); return nil })),
		node.OpAddRoutes.Do(control.Act(func(r node.AddRoutesRequest) error { got <- len(r.Nets) * len(r.Gateways); return nil })),
	}, new(control.Events))}
	for _, c := range []struct {
		args []string
		want int // number of NIDs or routes of the request; 0: the range is refused
	}{
		{[]string{"peer", "add", "--ip2nets", blocks(1)}, 4096},
		{[]string{"peer", "add", "--ip2nets", blocks(4)}, 16384},
		{[]string{"peer", "add", "--ip2nets", blocks(5)}, 0},
		{[]string{"peer", "add", "--ip2nets", "tcp 10.0.[0-63].[0-255]"}, 16384},
		{[]string{"peer", "add", "--ip2nets", "tcp 10.0.[0-64].[0-255]"}, 0},
		{[]string{"peer", "add", "--prim_nid", "10.9.0.1@tcp", "--nid", "10.0.[0-15].[0-255]@tcp"}, 4097},
		{[]string{"peer", "del", "--prim_nid", "10.9.0.1@tcp", "--nid", "10.0.[0-15].[0-255]@tcp"}, 4097},
		{[]string{"peer", "del", "--prim_nid", "10.9.0.1@tcp", "--nid", strings.Repeat("10.0.[0-15].[0-255]@tcp,", 3) + "10.0.[0-15].[0-255]@tcp"}, 0},
		{[]string{"route", "add", "--net", "tcp1", "--gateway", "10.0.[0-15].[0-255]@tcp"}, 4096},
		{[]string{"route", "add", "--net", "tcp1", "--gateway", "10.0.[0-63].[0-255]@tcp"}, 16384},
		{[]string{"route", "add", "--net", "tcp[1-7000]", "--gateway", "10.0.0.1@tcp"}, 7000},
		{[]string{"route", "add", "--net", "tcp[1-129]", "--gateway", "10.0.0.[1-128]@tcp"}, 0},
	} {
		code, _, errs := f.lnetctl(t.Context(), c.args...)
		has := 0
		if len(got) > 0 {
			has = <-got
		}
		if has != c.want || c.want > 0 && code != 0 || c.want == 0 && (code != 234 || !strings.Contains(errs, "errno: -22") || !strings.Contains(errs, "16384")) {
			t.Errorf("%.80q: code %d, %d in the request, want %d; %.300q", c.args, code, has, c.want, errs)
		}
	}
}
