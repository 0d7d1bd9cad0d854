package sim

import (
	"strings"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnet/machine"
)

// script is a Program that consists of one function.
type script[M any] func(now time.Duration, in Input[M], out *Output[M]) time.Duration

func (s script[M]) Step(now time.Duration, in Input[M], out *Output[M]) time.Duration {
	return s(now, in, out)
}

// arrival is an input and the time of its arrival.
type arrival struct {
	at   time.Duration // virtual time
	now  time.Duration // time on the node's clock
	node NodeID
	in   Input[int]
}

// bench is a network of nodes that record each input with which they are stepped, and that send the
// messages in todo.
type bench struct {
	*Network[int]
	t    testing.TB
	got  []arrival // all inputs except those of kind Start
	todo map[NodeID][]Send[int]
	wake map[NodeID]time.Duration // wake that each node's steps return; Never for a node without an entry
	// The function also, if not nil, is called in each step and returns the wake of the step.
	also func(id NodeID, now time.Duration, in Input[int], out *Output[int]) time.Duration
}

func newBench(t testing.TB, cfg Config[int]) *bench {
	t.Helper()
	b := &bench{t: t, todo: map[NodeID][]Send[int]{}, wake: map[NodeID]time.Duration{}}
	cfg.Boot = func(l Incarnation, _ Program[int]) Program[int] {
		return script[int](func(now time.Duration, in Input[int], out *Output[int]) time.Duration {
			return b.step(l.Node, now, in, out)
		})
	}
	n, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.Network = n
	b.run(0)
	return b
}

func (b *bench) step(id NodeID, now time.Duration, in Input[int], out *Output[int]) time.Duration {
	if in.Kind != Start {
		b.got = append(b.got, arrival{b.Now(), now, id, in})
	}
	out.Sends = append(out.Sends, b.todo[id]...)
	delete(b.todo, id)
	if b.also != nil {
		return b.also(id, now, in, out)
	}
	if wake, ok := b.wake[id]; ok && wake > now {
		return wake
	}
	return machine.Never
}

// send makes a node send the messages msgs at the present time, all of them with one size.
func (b *bench) send(from, to NodeID, size int, msgs ...int) {
	b.t.Helper()
	for _, m := range msgs {
		b.todo[from] = append(b.todo[from], Send[int]{To: to, Msg: m, Size: size})
	}
	b.poke(from)
}

// poke steps a node with a command, so that it sends what it has to send, and removes this input
// from got.
func (b *bench) poke(id NodeID) {
	b.t.Helper()
	k := len(b.got)
	if !b.Command(id, "poke") || len(b.got) != k+1 {
		b.t.Fatalf("node %v is down or busy", id)
	}
	b.got = b.got[:k]
}

func (b *bench) run(until time.Duration) {
	b.t.Helper()
	if err := b.Run(until); err != nil {
		b.t.Fatal(err)
	}
}

// texts returns the arrivals in a short form.
func (b *bench) texts() []string {
	var s []string
	for _, a := range b.got {
		s = append(s, a.String())
	}
	return s
}

func (a arrival) String() string {
	text := a.at.String() + " " + a.node.String() + " " + a.in.Kind.String()
	switch a.in.Kind {
	case Message, Refused:
		return text + " " + string(rune('a'+a.in.Msg)) + " " + a.in.From.String()
	case Reset:
		return text + " " + a.in.From.String()
	case Command:
		return text + " " + a.in.Text
	}
	return text
}

// quality parses the text of a link's quality.
func quality(text string) link.Quality {
	c, err := link.ParseChange(strings.Fields(text))
	if err != nil {
		panic(err)
	}
	return c.Apply(link.Quality{})
}

func flat(text string) *Flat { return &Flat{Link: quality(text)} }
