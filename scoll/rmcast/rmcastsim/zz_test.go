package rmcastsim

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

func TestZZ(t *testing.T) {
	s, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	f := MildPlan
	if os.Getenv("WILD") != "" {
		f = WildPlan
	}
	text := []byte(f(s))
	if os.Getenv("FILE") != "" {
		text, _ = os.ReadFile(os.Getenv("FILE"))
	} else {
		os.WriteFile("/tmp/s6/rm_sim/p.sim", text, 0o644)
	}
	var n *Net
	p := *Protocol
	p.New = func(s *scenario.Setup) (scenario.Instance, error) {
		in, err := newInstance(s)
		n = in.(*instance).net
		return in, err
	}
	file, err := scenario.Parse("x", text, []*scenario.Protocol{&p})
	if err != nil {
		t.Fatal(err)
	}
	lvl := scenario.Machines
	if os.Getenv("STACKS") != "" {
		lvl = scenario.Stacks
	}
	res, err := scenario.Run(t.Context(), file, scenario.Options{Seed: &s, SampleEvery: -1, Level: lvl})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range res.Expects {
		if !o.OK {
			fmt.Println(o.Line, o.Text, o.At, o.Why)
		}
	}
	for id := range sim.NodeID(n.cfg.Nodes) {
		s, ok := n.Status(id)
		if !ok {
			fmt.Println(id, "down")
			continue
		}
		fmt.Printf("node %v %s self %v sending %v version %v usable %v versions %d mgr %v members %d inflight %d\n", id, s.State, s.Self, s.Sending, s.Version, s.Usable, s.Versions, s.Manager, len(s.Members), s.InFlight)
		for _, x := range s.Streams {
			if x.Stable != x.Head {
				fmt.Printf("   %+v\n", x)
			}
		}
		if g, ok := n.Managing(id); ok {
			fmt.Printf("   manager %+v\n", g)
		}
	}
	for _, m := range n.Messages() {
		if !m.over() {
			fmt.Println("open", m.name(), m.Sent, m.Outcome)
		}
	}
}
