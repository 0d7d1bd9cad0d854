package sim

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ulnet/lnd/link"
)

// chatter is a program that does all that programs can, at random.
type chatter struct {
	rng   *rand.Rand
	id    NodeID
	nodes int
	heard uint64
}

func (c *chatter) Step(now time.Duration, in Input[int], out *Output[int]) time.Duration {
	c.heard = c.heard*31 + uint64(in.Kind)<<8 + uint64(in.From) + uint64(in.Msg)
	peer := func() NodeID { return NodeID(c.rng.IntN(c.nodes + 1)) }
	switch {
	case in.Kind == Timer || in.Kind == Command || in.Kind == Message && c.rng.IntN(3) == 0:
		for range c.rng.IntN(3) {
			out.Sends = append(out.Sends, Send[int]{
				To: peer(), Msg: int(c.heard >> 40), Size: c.rng.IntN(3000), Priority: c.rng.IntN(4) == 0,
			})
		}
		out.Watch = append(out.Watch, peer())
		if c.rng.IntN(3) == 0 {
			out.Ignore = append(out.Ignore, peer())
		}
	case in.Kind == Reset || in.Kind == Refused:
		out.Events = append(out.Events, Event{Kind: 1, Subject: in.From, Value: c.heard, Text: in.Kind.String()})
	}
	return now + 1 + time.Duration(c.rng.Int64N(int64(20*time.Millisecond)))
}

func chatters(nodes int) func(Incarnation, Program[int]) Program[int] {
	return func(l Incarnation, kept Program[int]) Program[int] {
		c := &chatter{rng: rand.New(rand.NewPCG(l.Seed, 0)), id: l.Node, nodes: nodes}
		if k, ok := kept.(*chatter); ok {
			c.heard = k.heard
		}
		return c
	}
}

// plan is a list of faults with their times, in ms.
type plan []struct {
	At    int
	Kind  int
	Nodes [2]int
	Value int
}

var faultKinds = []func(n Control, a, b NodeID, value int){
	func(n Control, a, _ NodeID, _ int) { n.Kill(a) },
	func(n Control, a, _ NodeID, _ int) { n.Crash(a) },
	func(n Control, a, _ NodeID, v int) { n.Start(a, v%2 == 0) },
	func(n Control, a, _ NodeID, _ int) { n.Pause(a) },
	func(n Control, a, _ NodeID, _ int) { n.Resume(a) },
	func(n Control, a, _ NodeID, v int) { n.SetSkew(a, int64(v*100)) },
	func(n Control, a, _ NodeID, v int) { n.SetSlow(a, time.Duration(v)*time.Microsecond) },
	func(n Control, a, _ NodeID, _ int) { n.Command(a, "go") },
	func(n Control, a, b NodeID, _ int) { n.Partition(NodeRange(min(a, b), max(a, b))) },
	func(n Control, a, b NodeID, _ int) { n.Cut(Nodes(a), NodeRange(b, 99)) },
	func(n Control, _, _ NodeID, _ int) { n.Heal() },
	func(n Control, a, b NodeID, v int) {
		c, _ := link.ParseChange(strings.Fields("latency 3ms+exp(1ms) loss 10% duplicate 10% reorder 20%"))
		if v%2 == 0 {
			c.Fields = link.FieldLatency
		}
		n.SetLink(Nodes(a), NodeRange(b, 99), c)
	},
	func(n Control, _, _ NodeID, _ int) { n.ResetLinks() },
	func(n Control, a, _ NodeID, v int) { n.SetAccessRate(Nodes(a), int64(max(v, 1))*megabit) },
}

const planNodes, planLength = 8, 300 * time.Millisecond

func drawPlan(t *rapid.T) plan {
	var p plan
	for range rapid.IntRange(0, 40).Draw(t, "faults") {
		p = append(p, struct {
			At    int
			Kind  int
			Nodes [2]int
			Value int
		}{
			rapid.IntRange(0, 250).Draw(t, "at"), rapid.IntRange(0, len(faultKinds)-1).Draw(t, "kind"),
			[2]int{rapid.IntRange(0, planNodes-1).Draw(t, "a"), rapid.IntRange(0, planNodes-1).Draw(t, "b")},
			rapid.IntRange(-2000, 5000).Draw(t, "value"),
		})
	}
	return p
}

func (p plan) drive(c Control) error {
	for _, f := range p {
		c.At(time.Duration(f.At)*time.Millisecond, func() {
			faultKinds[f.Kind](c, NodeID(f.Nodes[0]), NodeID(f.Nodes[1]), f.Value)
		})
	}
	return c.Run(planLength)
}

func planConfig(seed uint64) Config[int] {
	g, err := NewGroups(planNodes, 3, quality("latency 1ms±0.5ms"), quality("latency 10ms~2ms loss 5%"), 20*megabit)
	if err != nil {
		panic(err)
	}
	return Config[int]{
		Nodes: planNodes, Seed: seed, Boot: chatters(planNodes), Topology: g, AccessRate: 50 * megabit, Inbox: 10,
		CPU: CPU{PerStep: 10 * time.Microsecond, PerKiB: time.Microsecond}, Hash: func(m *int) uint64 { return uint64(*m) },
		StartAt: func(id NodeID) time.Duration { return time.Duration(id) * 5 * time.Millisecond },
	}
}

func newPlanned(t interface{ Fatal(...any) }, seed uint64) *Network[int] {
	n, err := New(planConfig(seed))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSameSeedSameRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, seed := drawPlan(t), rapid.Uint64().Draw(t, "seed")
		a, b, other := newPlanned(t, seed), newPlanned(t, seed), newPlanned(t, seed+1)
		if err := Verify(a, b, p.drive); err != nil {
			t.Fatal(err)
		}
		if a.Digest() != b.Digest() || !reflect.DeepEqual(a.Stats(), b.Stats()) {
			t.Fatalf("digests %016x and %016x, counters %+v and %+v", a.Digest(), b.Digest(), a.Stats(), b.Stats())
		}
		if err := p.drive(other); err != nil {
			t.Fatal(err)
		}
		if other.Digest() == a.Digest() {
			t.Fatalf("seeds %d and %d have the same digest", seed, seed+1)
		}
		balance(t, a)
	})
}

// balance checks that every message is accounted for.
func balance(t *rapid.T, n *Network[int]) {
	for id := range NodeID(planNodes) { // resume the nodes, so that they process what waits
		n.Crash(id)
	}
	free := 0
	for i := n.flights.free; i >= 0; i = n.flights.at(i).next {
		free++
	}
	if all := len(n.flights.chunks) << flightBits; free > all {
		t.Fatalf("%d flights are free of %d", free, all)
	}
	if err := n.Run(planLength + time.Minute); err != nil {
		t.Fatal(err)
	}
	free = 0
	for i := n.flights.free; i >= 0; i = n.flights.at(i).next {
		free++
	}
	if all := len(n.flights.chunks) << flightBits; free != all || len(n.commands) != 0 || n.queue.len() != 0 {
		t.Fatalf("at the end %d of %d flights are free, %d commands and %d events left", free, all, len(n.commands), n.queue.len())
	}
}

// A counter that two runs share is found in the step that reads it.
func TestVerifyFinds(t *testing.T) {
	reads := 0
	shared := func() *Network[int] {
		cfg := planConfig(1)
		boot := cfg.Boot
		cfg.Boot = func(l Incarnation, kept Program[int]) Program[int] {
			p, steps := boot(l, kept), 0
			return script[int](func(now time.Duration, in Input[int], out *Output[int]) time.Duration {
				wake := p.Step(now, in, out)
				if steps++; l.Node == 3 && steps == 20 {
					reads++
					out.Events = append(out.Events, Event{Value: uint64(reads)})
				}
				return wake
			})
		}
		n, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	// want is the step in which the replay has to differ.
	var want Step
	n, steps := shared(), 0
	n.Observe(func(s Step) {
		if s.Node == 3 {
			if steps++; steps == 20 {
				want = s
			}
		}
	})
	if err := n.Run(time.Second); err != nil || steps < 20 {
		t.Fatal(steps, err)
	}
	err := Verify(shared(), shared(), plan{}.drive)
	d, ok := errors.AsType[*DivergenceError](err)
	if !ok || d.First.Number != want.Number || d.Second.Number != want.Number || d.First.At != want.At || d.First.Node != 3 {
		t.Fatalf("got %v, want step %d of node %v at %v", err, want.Number, want.Node, want.At)
	}
	if text := d.Error(); !strings.Contains(text, "node 4 at") {
		t.Errorf("the error says %q", text)
	}
}

// A program that iterates a map is found too.
func TestVerifyFindsMapOrder(t *testing.T) {
	run := func() *Network[int] {
		cfg := Config[int]{Nodes: 2, Boot: func(Incarnation, Program[int]) Program[int] {
			peers := map[NodeID]bool{}
			for id := range NodeID(100) {
				peers[id] = true
			}
			return script[int](func(now time.Duration, in Input[int], out *Output[int]) time.Duration {
				for id := range peers {
					out.Sends = append(out.Sends, Send[int]{To: id})
				}
				return now + time.Second
			})
		}}
		n, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, ok := errors.AsType[*DivergenceError](Verify(run(), run(), plan{}.drive)); !ok {
		t.Error("not found")
	}
}

// A run that ends earlier differs from one that goes on.
func TestVerifyFindsEnd(t *testing.T) {
	a, b := newPlanned(t, 1), newPlanned(t, 1)
	err := Verify(a, b, func(c Control) error {
		if c == b {
			return c.Run(planLength / 2)
		}
		return c.Run(planLength)
	})
	if d, ok := errors.AsType[*DivergenceError](err); !ok || d.First.Number == 0 || d.Second.Number != 0 {
		t.Errorf("got %v", err)
	}
}

func TestContractError(t *testing.T) {
	n, err := New(Config[int]{Nodes: 3, Boot: func(l Incarnation, _ Program[int]) Program[int] {
		return script[int](func(now time.Duration, _ Input[int], _ *Output[int]) time.Duration {
			if l.Node == 1 && now >= 2*time.Second {
				return now
			}
			return now + time.Second
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	n.At(90*time.Second, func() { t.Error("it goes on") })
	err = n.Run(time.Minute)
	e, ok := errors.AsType[*ContractError](err)
	if !ok || e.Step.Number != 8 || e.Step.Node != 1 || e.Step.At != 2*time.Second || n.Now() != 2*time.Second {
		t.Fatalf("got %v", err)
	}
	const want = "step 8 (timer), node 2 in incarnation 0 at 2s: the program wants to wake at 2s when its clock shows 2s: want later, or machine.Never"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if again := n.Run(2 * time.Minute); again != err {
		t.Errorf("then %v", again)
	}
	if n.Command(0, "x") {
		t.Error("a simulation that has ended takes a command")
	}
}
