package history

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnet/machine"
)

func TestLog(t *testing.T) {
	l := New()
	var want []Record
	for i := range 3*chunkLen + 1 {
		r := Record{
			At: time.Duration(i / 2), Node: sim.NodeID(i), Incarnation: uint32(i) + 1, Kind: Kind(i%300) + 1,
			Subject: sim.NodeID(i % 7), Value: uint64(i) << 40, Text: fmt.Sprint(i % 3),
		}
		l.Append(r)
		want = append(want, r)
	}
	if diff := cmp.Diff(want, slices.Collect(l.All())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l.Len() != len(want) {
		t.Errorf("%d records, want %d", l.Len(), len(want))
	}
	defer func() {
		if recover() == nil {
			t.Error("a record of an earlier time is appended")
		}
	}()
	l.Append(Record{})
}

// TestMemory: a million records take 64 MB at most.
func TestMemory(t *testing.T) {
	const records, limit = 1_000_000, 64_000_000
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := used()
	l := New()
	for i := range records {
		l.Append(Record{At: time.Duration(i), Node: sim.NodeID(i), Kind: Delivery, Text: "the same"})
	}
	if bytes := used() - before; bytes > limit {
		t.Errorf("%d records take %d bytes, want at most %d", l.Len(), bytes, limit)
	}
	runtime.KeepAlive(l)
}

// teller reports an event for each command that it gets.
type teller struct{}

func (teller) Step(now time.Duration, in sim.Input[int], out *sim.Output[int]) time.Duration {
	if in.Kind == sim.Command {
		out.Events = append(out.Events, sim.Event{Kind: uint16(Join), Subject: 1, Text: in.Text})
	}
	return machine.Never
}

// TestWatch: a log has all events and all changes to the network, each with its time and
// incarnation.
func TestWatch(t *testing.T) {
	heard := 0
	cfg := sim.Config[int]{
		Nodes: 2, StartAt: func(id sim.NodeID) time.Duration { return time.Duration(id) * time.Second },
		Boot:    func(sim.Incarnation, sim.Program[int]) sim.Program[int] { return teller{} },
		OnEvent: func(time.Duration, sim.NodeID, sim.Event) { heard++ },
	}
	l := New()
	Watch(l, &cfg)
	n, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := l.Control(n)
	everything(t, c)
	want := []string{
		"0s node 1.0: start",
		"1s node 2.0: start",
		"2s node 1.0: pause",
		"2s node 1.0: resume",
		"2s node 1.0: join of 2 first",
		"2s node 1.0: kill",
		"2s node 1.1: start",
		"2s node 1.1: join of 2 second",
		"2s node 1.1: crash",
		"2s network: partition 1 | 2",
		"2s network: cut 1 -> 2",
		"2s network: heal",
		"2s network: links 1 -> all loss 100%",
		"2s network: links reset",
		"2s node 2.0: skew +10ppm",
		"2s node 2.0: slow 1s",
	}
	var got []string
	for r := range l.All() {
		got = append(got, r.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if heard != 2 {
		t.Errorf("OnEvent of the configuration heard %d events, want 2", heard)
	}
}

// everything calls each method of c that changes the network or a node, most of them also when
// they have no effect.
func everything(t *testing.T, c sim.Control) {
	t.Helper()
	if err := c.Run(2 * time.Second); err != nil {
		t.Fatal(err)
	}
	c.Resume(0)
	c.Pause(0)
	c.Pause(0)
	c.Resume(0)
	c.Command(0, "first")
	c.Kill(0)
	c.Kill(0)
	c.Pause(0)
	c.Start(0, false)
	c.Command(0, "second")
	c.Crash(0)
	c.Crash(0)
	c.Partition(sim.Nodes(0), sim.Nodes(1))
	c.Cut(sim.Nodes(0), sim.Nodes(1))
	c.Heal()
	change, err := link.ParseChange([]string{"loss", "100%"})
	if err != nil {
		t.Fatal(err)
	}
	c.SetLink(sim.Nodes(0), sim.AllNodes, change)
	c.ResetLinks()
	c.SetSkew(1, 10)
	c.SetSlow(1, time.Second)
}
