package path

import (
	"fmt"
	"testing"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// square returns a node and a peer with four NIs each, on as many nets.
func square(nets int) (*Table, *Query) {
	var locals []*Local
	var remotes []*Remote
	for i := range 4 {
		net := i % nets
		locals = append(locals, &Local{NID: nid.MustParse(fmt.Sprintf("10.%d.0.%d@tcp%d", net, i+1, net))})
		remotes = append(remotes, &Remote{NID: nid.MustParse(fmt.Sprintf("10.%d.1.%d@tcp%d", net, i+1, net))})
	}
	p := NewPeer(true, remotes...)
	for _, r := range remotes {
		r.SetPeer(p)
	}
	return NewTable(locals, nil), &Query{Dest: remotes[0].NID, To: remotes[0]}
}

// BenchmarkChoose measures goal G-PA-4: a choice among four NIs of this node and four of a
// peer.
func BenchmarkChoose(b *testing.B) {
	for _, nets := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("nets=%d", nets), func(b *testing.B) {
			t, q := square(nets)
			b.ReportAllocs()
			var seq uint64
			for b.Loop() {
				c, err := Choose(t, q)
				if err != nil {
					b.Fatal(err)
				}
				seq++
				c.Use(c.hop, seq)
			}
		})
	}
}

// TestChooseAllocates: a choice, direct or by a gateway, allocates nothing.
func TestChooseAllocates(t *testing.T) {
	spec.Covers(t, "SP-16")
	if effort.Race {
		t.Skip("the race detector allocates")
	}
	table, q := square(2)
	w := newWorld(t, here0, here1)
	w.peer(true, gate0, gate1)
	w.route("tcp2", gate0)
	for name, c := range map[string]struct {
		table *Table
		q     *Query
	}{"direct": {table, q}, "routed": {w.table, w.query(Request, "", peer2)}} {
		var seq uint64
		if n := testing.AllocsPerRun(100, func() {
			path, err := Choose(c.table, c.q)
			if err != nil {
				t.Fatal(err)
			}
			seq++
			path.Use(path.hop, seq)
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
