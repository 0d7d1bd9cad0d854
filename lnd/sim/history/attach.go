package history

import (
	"fmt"
	"strings"
	"time"

	"ulnet/lnd/sim"
)

// Watch appends to a log the events of a network's programs and the starts of their
// incarnations. Call it before sim.New, and [Log.Control] before the network runs. An
// OnEvent that cfg has is still called.
func Watch[M any](l *Log, cfg *sim.Config[M]) {
	boot, heard := cfg.Boot, cfg.OnEvent
	cfg.Boot = func(incarnation sim.Incarnation, kept sim.Program[M]) sim.Program[M] {
		l.Begin(incarnation)
		return boot(incarnation, kept)
	}
	cfg.OnEvent = func(at time.Duration, node sim.NodeID, ev sim.Event) {
		l.Tell(at, node, ev)
		if heard != nil {
			heard(at, node, ev)
		}
	}
}

// Begin appends that an incarnation begins, for networks without [Watch].
func (l *Log) Begin(incarnation sim.Incarnation) {
	if l.clock == nil {
		panic("history: a watched network runs without Log.Control")
	}
	l.incarnations[incarnation.Node] = uint32(incarnation.Number)
	l.toNode(Start, incarnation.Node, 0)
}

// Control returns a Control that appends to the log what is done through it. The log
// takes the time from c.
func (l *Log) Control(c sim.Control) sim.Control {
	l.clock = c.Now
	return &sim.Acts{Control: c, Around: l.done}
}

// done appends act a to the log and performs it by calling do.
func (l *Log) done(a *sim.Act, do func()) {
	kind := Kill + Kind(a.Verb) // kinds and verbs have the same order
	switch a.Verb {
	case sim.Kill, sim.Crash, sim.Pause, sim.Resume:
		if a.Changes {
			l.toNode(kind, a.Node, 0)
		}
	case sim.Skew:
		l.toNode(kind, a.Node, uint64(a.PPM))
	case sim.Slow:
		l.toNode(kind, a.Node, uint64(a.Extra))
	case sim.Partition:
		texts := make([]string, len(a.Sets))
		for i, s := range a.Sets {
			texts[i] = s.String()
		}
		l.toNetwork(kind, strings.Join(texts, " | "))
	case sim.Cut:
		l.toNetwork(kind, fmt.Sprintf("%v -> %v", a.From, a.To))
	case sim.SetLink:
		l.toNetwork(kind, fmt.Sprintf("%v -> %v %v", a.From, a.To, a.Change))
	case sim.Heal, sim.ResetLinks:
		l.toNetwork(kind, "")
	}
	do()
}

// toNode appends a record of what was done to a node, such as a kill.
func (l *Log) toNode(kind Kind, node sim.NodeID, value uint64) {
	l.Append(Record{At: l.clock(), Node: node, Incarnation: l.incarnations[node], Kind: kind, Subject: NoNode, Value: value})
}

// toNetwork appends a record of what was done to the network, such as a partition.
func (l *Log) toNetwork(kind Kind, text string) {
	l.Append(Record{At: l.clock(), Node: NoNode, Kind: kind, Subject: NoNode, Text: text})
}
