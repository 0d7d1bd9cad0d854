package main

import (
	"fmt"
	"testing"

	"ulnet/lnet/nid"
	"ulnet/lnet/path"
)

// measureChoice measures goal G-PA-4: the cost of choosing a path between four NIs of this node
// and four of the other one. Goals G-LN-1 and G-LN-5 bound the cost if there is only one NI and
// one NID, so that there is nothing to choose.
func measureChoice(b *measurement) {
	var took, objects []float64
	for range max(3, b.rounds/3) {
		r := testing.Benchmark(choose4by4)
		took = append(took, float64(r.T.Nanoseconds())/float64(r.N))
		objects = append(objects, float64(r.AllocsPerOp()))
	}
	basis := fmt.Sprintf("median of %d benchmarks", len(took))
	b.add(
		line{what: "path selection, 4 × 4 NIs", ratio: median(took), unit: "ns", limit: 120, basis: basis},
		line{what: "path selection, allocations", ratio: median(objects), unit: "objects", limit: 0, basis: basis},
	)
}

// choose4by4 benchmarks a choice, including the changes of state that a message causes, on which
// later choices depend.
func choose4by4(b *testing.B) {
	var locals []*path.Local
	var remotes []*path.Remote
	for i := range 4 {
		locals = append(locals, &path.Local{NID: nid.MustParse(fmt.Sprintf("10.0.0.%d@tcp", i+1))})
		remotes = append(remotes, &path.Remote{NID: nid.MustParse(fmt.Sprintf("10.0.1.%d@tcp", i+1))})
	}
	peer := path.NewPeer(true, remotes...)
	for _, r := range remotes {
		r.SetPeer(peer)
	}
	table, query := path.NewTable(locals, nil), &path.Query{Dest: remotes[0].NID, To: remotes[0]}
	b.ReportAllocs()
	var seq uint64
	for b.Loop() {
		c, err := path.Choose(table, query)
		if err != nil {
			b.Fatal(err)
		}
		seq++
		for _, r := range remotes {
			if r.NID == c.Hop {
				c.Use(r, seq)
			}
		}
	}
}
