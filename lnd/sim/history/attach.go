package history

import (
	"fmt"
	"strings"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// Watch lets a log hear what the programs of a network tell, and when their
// lives begin. Call it before sim.New, and [Log.Control] before the network
// runs. What cfg has as OnEvent goes on hearing events.
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

// Begin appends that an incarnation begins: for who does not [Watch].
func (l *Log) Begin(incarnation sim.Incarnation) {
	if l.clock == nil {
		panic("history: a watched network runs without Log.Control")
	}
	l.incarnations[incarnation.Node] = uint32(incarnation.Number)
	l.truth(Start, incarnation.Node)
}

// truth appends what was done to a node.
func (l *Log) truth(kind Kind, node sim.NodeID) {
	l.Append(Record{At: l.clock(), Node: node, Incarnation: l.incarnations[node], Kind: kind, Subject: Nobody})
}

// network appends what was done to the network.
func (l *Log) network(kind Kind, text string) {
	l.Append(Record{At: l.clock(), Node: Nobody, Kind: kind, Subject: Nobody, Text: text})
}

// Control returns c with a log that hears what is done through it. The log
// gets its time from c.
func (l *Log) Control(c sim.Control) sim.Control {
	l.clock = c.Now
	return &control{c, l}
}

// control passes on what it is told, after writing it down.
type control struct {
	sim.Control
	log *Log
}

func (c *control) Kill(id sim.NodeID) {
	if c.Up(id) {
		c.log.truth(Kill, id)
	}
	c.Control.Kill(id)
}

func (c *control) Crash(id sim.NodeID) {
	if c.Up(id) {
		c.log.truth(Crash, id)
	}
	c.Control.Crash(id)
}

func (c *control) Pause(id sim.NodeID) {
	if c.Up(id) && !c.Paused(id) {
		c.log.truth(Pause, id)
	}
	c.Control.Pause(id)
}

func (c *control) Resume(id sim.NodeID) {
	if c.Paused(id) {
		c.log.truth(Resume, id)
	}
	c.Control.Resume(id)
}

func (c *control) SetSkew(id sim.NodeID, ppm int64) {
	c.log.Append(Record{At: c.Now(), Node: id, Incarnation: c.log.incarnations[id], Kind: Skew, Subject: Nobody, Value: uint64(ppm)})
	c.Control.SetSkew(id, ppm)
}

func (c *control) SetSlow(id sim.NodeID, extra time.Duration) {
	c.log.Append(Record{At: c.Now(), Node: id, Incarnation: c.log.incarnations[id], Kind: Slow, Subject: Nobody, Value: uint64(extra)})
	c.Control.SetSlow(id, extra)
}

func (c *control) Partition(sets ...sim.NodeSet) {
	texts := make([]string, len(sets))
	for i, s := range sets {
		texts[i] = s.String()
	}
	c.log.network(Partition, strings.Join(texts, " | "))
	c.Control.Partition(sets...)
}

func (c *control) Cut(from, to sim.NodeSet) {
	c.log.network(Cut, fmt.Sprintf("%v -> %v", from, to))
	c.Control.Cut(from, to)
}

func (c *control) Heal() {
	c.log.network(Heal, "")
	c.Control.Heal()
}

func (c *control) SetLink(from, to sim.NodeSet, change link.Change) {
	c.log.network(Links, fmt.Sprintf("%v -> %v %v", from, to, change))
	c.Control.SetLink(from, to, change)
}

func (c *control) ResetLinks() {
	c.log.network(LinksReset, "")
	c.Control.ResetLinks()
}
