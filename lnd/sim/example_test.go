package sim_test

import (
	"fmt"
	"log"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnet/machine"
)

// relay sends a number on to the next node, one larger.
type relay struct{ incarnation sim.Incarnation }

func (r *relay) Step(_ time.Duration, in sim.Input[int], out *sim.Output[int]) time.Duration {
	next := sim.NodeID(int(r.incarnation.Node+1) % 1000)
	switch {
	case in.Kind == sim.Command:
		out.Sends = append(out.Sends, sim.Send[int]{To: next, Msg: 1})
	case in.Kind == sim.Message && in.Msg == 1000:
		out.Events = append(out.Events, sim.Event{Value: uint64(in.Msg)})
	case in.Kind == sim.Message:
		out.Sends = append(out.Sends, sim.Send[int]{To: next, Msg: in.Msg + 1})
	}
	return machine.Never
}

// A thousand machines stand in a ring of links of 2 ms, and a message goes round once.
func Example() {
	n, err := sim.New(sim.Config[int]{
		Nodes:    1000,
		Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: 2 * time.Millisecond}}},
		Boot:     func(incarnation sim.Incarnation, _ sim.Program[int]) sim.Program[int] { return &relay{incarnation} },
		OnEvent: func(at time.Duration, node sim.NodeID, ev sim.Event) {
			fmt.Println("node", node, "has", ev.Value, "after", at)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	n.At(0, func() { n.Command(0, "go") })
	if err := n.Run(time.Minute); err != nil {
		log.Fatal(err)
	}
	// Output:
	// node 1 has 1000 after 2s
}
