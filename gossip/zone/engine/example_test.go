package engine_test

import (
	"fmt"
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
)

// Two machines with one table, in virtual time, on a network without delay: the second asks the
// first to let it join, writes an attribute, and leaves.
func Example() {
	ids := []wire.ID{wire.MustParseID("n1=10.0.0.1@tcp"), wire.MustParseID("n2=10.0.0.2@tcp")}
	table := engine.NewTable(16)
	machines, wakes := map[wire.Ref]*engine.Machine{}, map[wire.Ref]time.Duration{}
	var refs []wire.Ref
	for _, id := range ids {
		m, err := engine.New(engine.Config{Zone: "rack1", Self: id, Bootstrap: ids[:1], Table: table})
		if err != nil {
			panic(err)
		}
		refs = append(refs, table.Lookup(id))
		machines[table.Lookup(id)] = m
	}
	var now time.Duration
	var step func(wire.Ref, engine.Input)
	step = func(self wire.Ref, in engine.Input) {
		var out engine.Output
		wakes[self] = machines[self].Step(now, in, &out)
		for _, e := range out.Events {
			if self == refs[0] && e.Node != self {
				fmt.Println(e.ID.Name(), e.Kind, e.Keys)
			}
		}
		for i := range out.Sends {
			step(out.Sends[i].To, engine.Input{Kind: engine.Delivered, Message: &out.Sends[i].Message})
		}
	}
	run := func(end time.Duration) { // steps the machines at their wakes, the earliest first
		for ; now < end; now = min(wakes[refs[0]], wakes[refs[1]]) {
			for _, r := range refs {
				if wakes[r] <= now {
					step(r, engine.Input{})
				}
			}
		}
	}
	for _, r := range refs {
		step(r, engine.Input{Kind: engine.Join, Inc: 1})
	}
	run(5 * time.Second)
	step(refs[1], engine.Input{Kind: engine.Set, Key: "role", Value: []byte("mds")})
	run(10 * time.Second)
	step(refs[1], engine.Input{Kind: engine.Leave})
	// Output:
	// n2 joined []
	// n2 attributes [role]
	// n2 left []
}
