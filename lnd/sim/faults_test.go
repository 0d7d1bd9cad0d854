package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnet/machine"
)

func (b *bench) want(t *testing.T, want ...string) {
	t.Helper()
	if got := b.texts(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	b.got = nil
}

// When a node dies, messages to it are lost, and the nodes that watch it are told.
func TestDeath(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(b *bench)
		want []string
	}{
		{"killed", func(b *bench) { b.Kill(0) }, []string{"15ms 2 reset 1", "30ms 3 refused a 1"}},
		{"crashed", func(b *bench) { b.Crash(0) }, nil},
		{"killed, crashed", func(b *bench) { b.Kill(0); b.Crash(0) }, []string{"15ms 2 reset 1"}},
		{"crashed, killed", func(b *bench) { b.Crash(0); b.Kill(0) }, nil},
		{"restarted", func(b *bench) { b.Kill(0); b.Start(0, false) }, []string{"15ms 2 reset 1", "20ms 1 message a 3"}},
		{"killed, unreachable", func(b *bench) { b.Cut(Nodes(0), AllNodes); b.Kill(0) }, nil},
		{"killed, sender killed", func(b *bench) {
			b.Kill(0)
			b.At(12*time.Millisecond, func() { b.Kill(2); b.Start(2, false) })
		}, []string{"15ms 2 reset 1"}},
		{"killed, watcher killed", func(b *bench) {
			b.Kill(0)
			b.At(7*time.Millisecond, func() { b.Kill(1); b.Start(1, true) })
		}, []string{"30ms 3 refused a 1"}},
		{"killed, watcher dead already", func(b *bench) { b.Kill(1); b.Kill(0) }, []string{"30ms 3 refused a 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Config[int]{Nodes: 3, Topology: flat("latency 10ms")})
			b.also = func(id NodeID, _ time.Duration, in Input[int], out *Output[int]) time.Duration {
				if id == 1 && in.Kind == Command {
					out.Watch = append(out.Watch, 0, 0)
				}
				return machine.Never
			}
			b.poke(1)
			b.run(5 * time.Millisecond)
			c.do(b)
			b.At(10*time.Millisecond, func() { b.send(2, 0, 1, 0) })
			b.run(time.Second)
			b.want(t, c.want...)
		})
	}
}

func TestIgnore(t *testing.T) {
	b := newBench(t, Config[int]{Nodes: 4})
	var watch, ignore []NodeID
	b.also = func(id NodeID, _ time.Duration, _ Input[int], out *Output[int]) time.Duration {
		out.Watch, out.Ignore = append(out.Watch, watch...), append(out.Ignore, ignore...)
		return machine.Never
	}
	ignore = []NodeID{0, 9, -1}
	b.poke(2) // without effect: the node watches no other yet
	watch, ignore = []NodeID{0, 1, 9, -1}, nil
	b.poke(3)
	b.poke(2)
	watch, ignore = nil, []NodeID{0}
	b.poke(2)
	watch, ignore = nil, nil
	b.Kill(0)
	b.Kill(1)
	b.run(0)
	b.want(t, "0s 4 reset 1", "0s 3 reset 2", "0s 4 reset 2")
	b.Start(0, false)
	b.Kill(0)
	b.run(0)
	b.want(t) // no Reset comes, because the first one has ended the watch of node 1
	if s := b.Stats(); s.NoNode != 4 {
		t.Errorf("%d wrong numbers, want 4", s.NoNode)
	}
}

func TestIncarnations(t *testing.T) {
	var incarnations []Incarnation
	var kept []bool
	n, err := New(Config[int]{
		Nodes: 2,
		Boot: func(l Incarnation, old Program[int]) Program[int] {
			incarnations, kept = append(incarnations, l), append(kept, old != nil)
			return script[int](func(time.Duration, Input[int], *Output[int]) time.Duration { return machine.Never })
		},
		StartAt: func(id NodeID) time.Duration { return time.Duration(id)*time.Second - time.Millisecond },
	})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, ok bool) {
		t.Helper()
		if !ok {
			t.Errorf("%s: lives %v", what, incarnations)
		}
	}
	_ = n.Run(0)
	check("an instant before the begin is the begin", len(incarnations) == 1 && n.Now() == 0 && n.Up(0) && !n.Up(1))
	n.Kill(1)
	n.Crash(1)
	check("a node that has not begun does not end", !n.Command(1, "x") && n.Program(1) == nil)
	check("started early", n.Start(1, true) && !n.Start(1, true))
	n.Kill(1)
	_ = n.Run(2 * time.Second)
	check("the first start was that by hand", len(incarnations) == 2 && !n.Up(1))
	check("third", n.Start(1, true) && n.Up(1))
	n.Crash(1)
	check("fourth", n.Start(1, false))
	check("numbers", len(incarnations) == 4 && incarnations[1].Number == 0 && incarnations[2].Number == 1 && incarnations[3].Number == 2)
	check("seeds", incarnations[1].Seed != incarnations[2].Seed && incarnations[1].Seed != incarnations[0].Seed)
	check("clock", incarnations[3].Now == 2*time.Second)
	if !slices.Equal(kept, []bool{false, false, true, false}) {
		t.Errorf("kept: %v", kept)
	}
}

// reach returns a table that says which of the nodes 1 to 6 receives messages from which.
func reach(t *testing.T, b *bench) string {
	const nodes = 6
	b.got = nil
	for from := range NodeID(nodes) {
		for to := range NodeID(nodes) {
			b.send(from, to, 1, 0)
		}
	}
	b.run(b.Now() + time.Second)
	var table [nodes][nodes]byte
	for i := range table {
		for k := range table[i] {
			table[i][k] = '.'
		}
	}
	for _, a := range b.got {
		table[a.in.From][a.node] = 'x'
	}
	var rows []string
	for _, row := range table {
		rows = append(rows, string(row[:]))
	}
	return strings.Join(rows, " ")
}

func TestPartitions(t *testing.T) {
	b := newBench(t, Config[int]{Nodes: 6})
	const all = "xxxxxx xxxxxx xxxxxx xxxxxx xxxxxx xxxxxx"
	for _, c := range []struct {
		name string
		do   func()
		want string
	}{
		{"none", func() {}, all},
		{"two and the rest", func() { b.Partition(NodeRange(0, 1), NodeRange(2, 3)) }, "xx.... xx.... ..xx.. ..xx.. ....xx ....xx"},
		{"replaced", func() { b.Partition(NodeRange(0, 2)) }, "xxx... xxx... xxx... ...xxx ...xxx ...xxx"},
		{"cut as well", func() { b.Cut(Nodes(0, 4), Nodes(1, 5)) }, "x.x... xxx... xxx... ...xxx ...xx. ...xxx"},
		{"healed", b.Heal, all},
		{"one way", func() { b.Cut(Nodes(0), AllNodes) }, "...... xxxxxx xxxxxx xxxxxx xxxxxx xxxxxx"},
		{"cuts add up", func() { b.Cut(AllNodes, Nodes(5)) }, "...... xxxxx. xxxxx. xxxxx. xxxxx. xxxxx."},
		{"healed again", b.Heal, all},
		{"lossy", func() { b.SetLink(Nodes(0), Nodes(1), loss("100%")) }, "x.xxxx xxxxxx xxxxxx xxxxxx xxxxxx xxxxxx"},
		{"the later wins", func() { b.SetLink(AllNodes, Nodes(1), loss("0%")) }, all},
		{"and again", func() { b.SetLink(Nodes(2), AllNodes, loss("100%")) }, "xxxxxx xxxxxx ...... xxxxxx xxxxxx xxxxxx"},
		{"reset", b.ResetLinks, all},
	} {
		c.do()
		if got := reach(t, b); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestStall: messages that are sent while a direction is stalled leave when the stall ends, and none is lost. Those that
// are on their way then, and those of the other direction, are not late. Of several stalls the longest counts.
func TestStall(t *testing.T) {
	b := newBench(t, Config[int]{Nodes: 3, Topology: flat("latency 10ms")})
	b.send(0, 1, 1, 0)
	b.At(5*time.Millisecond, func() {
		b.Stall(Nodes(0), Nodes(1), 100*time.Millisecond)
		b.Stall(AllNodes, Nodes(1), 40*time.Millisecond)
	})
	b.At(20*time.Millisecond, func() { b.send(0, 1, 2, 0); b.send(1, 0, 3, 0); b.send(2, 1, 4, 0); b.send(0, 2, 5, 0) })
	b.At(60*time.Millisecond, func() { b.send(0, 1, 6, 0); b.send(2, 1, 7, 0) })
	b.At(105*time.Millisecond, func() { b.send(0, 1, 8, 0) })
	b.run(time.Second)
	b.want(t, "10ms 2 message a 1", "30ms 1 message a 2", "30ms 3 message a 1", "55ms 2 message a 3", "70ms 2 message a 3",
		"115ms 2 message a 1", "115ms 2 message a 1", "115ms 2 message a 1")
	if s := b.Stats(); s.Cut+s.Lost > 0 {
		t.Errorf("%+v", s)
	}
}

func loss(p string) link.Change {
	c, err := link.ParseChange([]string{"loss", p})
	if err != nil {
		panic(err)
	}
	return c
}

// If two changes of a link concern different fields, both apply. A change does not affect
// messages that are on their way.
func TestSetLinkFields(t *testing.T) {
	b := newBench(t, Config[int]{Nodes: 2, Topology: flat("latency 10ms")})
	b.send(0, 1, 1, 0)
	latency, _ := link.ParseChange([]string{"latency", "30ms"})
	b.SetLink(Nodes(0), Nodes(1), latency)
	double, _ := link.ParseChange([]string{"duplicate", "1"})
	b.SetLink(AllNodes, AllNodes, double)
	b.send(0, 1, 1, 1)
	b.send(1, 0, 1, 2)
	b.Partition(Nodes(0))
	b.send(0, 1, 1, 3)
	b.run(time.Second)
	b.want(t, "10ms 2 message a 1", "10ms 1 message c 2", "10ms 1 message c 2", "30ms 2 message b 1", "30ms 2 message b 1")
	if s := b.Stats(); s.Cut != 1 || s.Duplicated != 2 {
		t.Errorf("cut %d, duplicated %d, want 1 and 2", s.Cut, s.Duplicated)
	}
}
