package sim

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ulnet/lnet/machine"
	"ulnet/lnet/machine/record"
)

func TestAt(t *testing.T) {
	b := newBench(t, Config[int]{Nodes: 2})
	var got []string
	note := func(s string) func() { return func() { got = append(got, fmt.Sprint(s, " ", b.Now())) } }
	b.At(2*time.Second, note("b"))
	b.At(time.Second, func() {
		note("a")()
		b.At(0, note("past"))
		b.At(time.Second, note("same"))
		b.At(3*time.Second, note("c"))
	})
	b.At(2*time.Second, note("b2"))
	b.run(time.Second)
	if want := []string{"a 1s", "past 1s", "same 1s"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	b.run(0) // a run until an instant that is past does not change the time
	if b.Now() != time.Second {
		t.Errorf("now %v", b.Now())
	}
	b.run(machine.Never)
	if want := []string{"b 2s", "b2 2s", "c 3s"}; !slices.Equal(got[3:], want) || b.Now() != 3*time.Second {
		t.Errorf("at %v got %q, want %q at 3s", b.Now(), got[3:], want)
	}
	var tick func()
	tick = func() { b.At(b.Now()+time.Second, tick) }
	tick()
	b.run(1000 * time.Second)
	if len(b.actions.funcs) > 5 {
		t.Errorf("%d places for actions after many that came one by one", len(b.actions.funcs))
	}
}

func TestStop(t *testing.T) {
	b := newBench(t, Config[int]{Nodes: 2})
	end := errors.New("enough")
	b.At(time.Second, func() { b.Stop(end); b.Stop(errors.New("later")) })
	b.At(time.Second, func() { t.Error("it goes on") })
	if err := b.Run(time.Minute); err != end || b.Now() != time.Second {
		t.Errorf("got %v at %v", err, b.Now())
	}
	if n, err := b.RunEvents(10); n != 0 || err != end {
		t.Errorf("then %d events, %v", n, err)
	}
}

func TestNoProgram(t *testing.T) {
	n, err := New(Config[int]{Nodes: 1, Boot: func(Incarnation, Program[int]) Program[int] { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Run(0); err == nil {
		t.Error("a node runs nothing")
	}
}

// A program whose wake alternates between a short timer and a long one adds no event for the long
// timer each time: after thousands of steps hardly any events are queued.
func TestTimersLeaveNoEvents(t *testing.T) {
	n, err := New(Config[int]{Nodes: 2, Boot: func(l Incarnation, _ Program[int]) Program[int] {
		long, soon := time.Hour, machine.Never
		return script[int](func(now time.Duration, in Input[int], out *Output[int]) time.Duration {
			if l.Node == 1 { // node 1 sends messages to node 0 all the time
				out.Sends = append(out.Sends, Send[int]{})
				return now + 10*time.Millisecond
			}
			switch in.Kind {
			case Message:
				soon = now + time.Millisecond
			case Timer:
				soon = machine.Never
			}
			return min(long, soon)
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Run(time.Minute); err != nil {
		t.Fatal(err)
	}
	if s := n.Stats(); s.Queued > 5 || s.Steps < 15_000 {
		t.Errorf("%d events wait after %d steps", s.Queued, s.Steps)
	}
}

func TestEngineAllocatesNothing(t *testing.T) {
	n := newTickers(t, 2000)
	if err := n.Run(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	n.SetAccessRate(AllNodes, 1000*megabit)
	n.SetSkew(3, 100)
	n.SetSlow(4, time.Microsecond)
	n.Partition(NodeRange(0, 10))
	if _, err := n.RunEvents(100_000); err != nil {
		t.Fatal(err)
	}
	if a := testing.AllocsPerRun(20, func() { _, _ = n.RunEvents(5000) }); a != 0 {
		t.Errorf("%v allocations in 5000 events", a)
	}
}

func TestNodeSet(t *testing.T) {
	s := newNodeSet([]nodeRange{{5, 9}, {-3, 1}, {20, 10}, {7, 12}, {2, 2}, {30, 30}})
	if got := s.String(); got != "1-3,6-13,31" {
		t.Errorf("got %s", got)
	}
	if got := slices.Collect(s.All(8)); !slices.Equal(got, []NodeID{0, 1, 2, 5, 6, 7}) || s.Len(8) != 6 || s.Len(100) != 12 {
		t.Errorf("got %v, %d, %d", got, s.Len(8), s.Len(100))
	}
	if AllNodes.String() != "all" || AllNodes.Len(7) != 7 || len(slices.Collect(AllNodes.All(7))) != 7 {
		t.Error("all nodes are not all")
	}
	if (NodeSet{}).Has(0) || (NodeSet{}).Len(5) != 0 || (NodeSet{}).String() != "" {
		t.Error("no nodes are some")
	}
}

func TestParseNodesErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":     `"" is no set of nodes: want all, or numbers and ranges such as 1-500,600`,
		"x":    `"x" is no set of nodes: want all, or numbers and ranges such as 1-500,600`,
		"1,":   `"1," is no set of nodes: want all, or numbers and ranges such as 1-500,600`,
		"1-":   `"1-" is no set of nodes: want all, or numbers and ranges such as 1-500,600`,
		"-1":   `"-1" is no set of nodes: want all, or numbers and ranges such as 1-500,600`,
		"0":    `"0": nodes are numbered 1 to 10`,
		"5-11": `"5-11": nodes are numbered 1 to 10`,
		"7-5":  `"7-5": 7 is after 5`,
	} {
		if _, err := ParseNodes(text, 10); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestNodeSetRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOf(rapid.Map(rapid.IntRange(0, 40), func(i int) NodeID { return NodeID(i) })).Draw(t, "ids")
		s := Nodes(ids...)
		for id := range NodeID(42) {
			if s.Has(id) != slices.Contains(ids, id) {
				t.Fatalf("node %v", id)
			}
		}
		if len(ids) == 0 {
			return
		}
		again, err := ParseNodes(s.String(), 41)
		if err != nil || !slices.Equal(again.ranges, s.ranges) {
			t.Fatalf("%v: %v, %v", s, again, err)
		}
	})
}

// TestPanic: a program that panics ends the run with an error that names the step, whether or not
// the run is recorded. A replay of the recording ends with the same error.
func TestPanic(t *testing.T) {
	bad := errors.New("own invariant")
	for _, recorded := range []bool{false, true} {
		cfg := Config[int]{Nodes: 3, Boot: func(l Incarnation, _ Program[int]) Program[int] {
			return script[int](func(now time.Duration, in Input[int], _ *Output[int]) time.Duration {
				if in.Text == "break" {
					panic(bad)
				}
				return now + time.Second
			})
		}}
		var file bytes.Buffer
		if recorded {
			cfg.Recorder = NewRecorder(&file, intCodec{}, record.Digests, nil)
		}
		n, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		n.At(1500*time.Millisecond, func() { n.Kill(1); n.Start(1, false); n.Command(1, "break") })
		err = n.Run(time.Minute)
		const want = "step 8 (command), node 2 in incarnation 1 at 1.5s: the program panicked: own invariant"
		broken, ok := errors.AsType[*ContractError](err)
		if !ok || err.Error() != want || !errors.Is(err, bad) || !strings.Contains(string(broken.Stack), "run_test.go") {
			t.Errorf("recorded %v: error %v: want %s, with its stack", recorded, err, want)
		}
		if again := n.Run(time.Hour); again != err || n.Now() != 1500*time.Millisecond {
			t.Errorf("then %v at %v", again, n.Now())
		}
		if !recorded {
			continue
		}
		if err := cfg.Recorder.Close(); err != nil {
			t.Fatal(err)
		}
		boot := func([]byte) (func(Incarnation, Program[int]) Program[int], error) { return cfg.Boot, nil }
		done, err := Replay(&file, intCodec{}, nil, boot)
		if err == nil || err.Error() != want || done.Steps != 7 || done.Digest != n.Digest() {
			t.Errorf("replayed %+v, error %v: want %s", done, err, want)
		}
	}
}

// TestPanicOfUser: a panic of the caller's own functions is not caught.
func TestPanicOfUser(t *testing.T) {
	b := newBench(t, Config[int]{Nodes: 2})
	b.At(time.Second, func() { panic("mine") })
	defer func() {
		if v := recover(); v != "mine" {
			t.Errorf("recovered %v", v)
		}
	}()
	t.Errorf("no panic, error %v", b.Run(time.Minute))
}
