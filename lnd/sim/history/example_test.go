package history_test

import (
	"fmt"
	"log"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnet/machine"
)

// announcer announces itself to all nodes once. It does not notice when a message arrives twice.
type announcer struct{ nodes int }

func (a *announcer) Step(_ time.Duration, in sim.Input[uint64], out *sim.Output[uint64]) time.Duration {
	switch in.Kind {
	case sim.Command:
		out.Events = append(out.Events, sim.Event{Kind: uint16(history.Send), Subject: history.NoNode, Value: 5})
		for i := range a.nodes {
			out.Sends = append(out.Sends, sim.Send[uint64]{To: sim.NodeID(i), Msg: 5})
		}
	case sim.Message:
		out.Events = append(out.Events,
			sim.Event{Kind: uint16(history.Delivery), Subject: in.From, Value: in.Msg},
			sim.Event{Kind: uint16(history.Join), Subject: in.From})
	}
	return machine.Never
}

// Node 1 announces itself to four nodes while its link to node 3 duplicates messages.
func Example() {
	cfg := sim.Config[uint64]{
		Nodes:    4,
		Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: time.Millisecond}}},
		Boot:     func(sim.Incarnation, sim.Program[uint64]) sim.Program[uint64] { return &announcer{4} },
	}
	l := history.New()
	history.Watch(l, &cfg)
	n, err := sim.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	control := l.Control(n)
	control.At(time.Second, func() {
		control.SetLink(sim.Nodes(0), sim.Nodes(2), link.Change{Fields: link.FieldDuplicate, To: link.Quality{Duplicate: 1}})
		control.Command(0, "announce")
	})
	if err := control.Run(time.Minute); err != nil {
		log.Fatal(err)
	}
	for _, v := range append(history.AtMostOnce(l), history.Alternation(l)...) {
		fmt.Println(v)
	}
	// Output:
	// AtMostOnce: node 3 was told 2 times of value 5 of node 1
	//   1.001s node 3.0: delivery of 1 value 5
	//   1.001s node 3.0: delivery of 1 value 5
	// Alternation: node 3 was told twice that node 1 joined
	//   1.001s node 3.0: join of 1
	//   1.001s node 3.0: join of 1
}
