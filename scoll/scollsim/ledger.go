package scollsim

import (
	"encoding/binary"
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnet/machine"
	"ulnet/scoll"
)

// Outcome is the state of a broadcast.
type Outcome uint8

// The outcomes.
const (
	UnderWay Outcome = iota
	Ended            // the root has the result
	NotSent          // the root could not send the broadcast, see Status
	RootGone         // the root's incarnation ended before the result
)

// Broadcast is one broadcast of a run.
type Broadcast struct {
	Number  uint32        // number of the broadcast, from 1
	Root    sim.NodeID    // the node that sent the broadcast
	Group   string        // name of the group in the scenario
	Outcome Outcome       // state of the broadcast
	Status  scoll.Status  // with NotSent: the reason
	Begun   time.Duration // when the command "broadcast" of the scenario was executed
	// Departed is when the root sent the broadcast: at Begun or, with the option places, when its congestion window had
	// room, until then machine.Never. "Their timeouts begin when they are sent" (docs/collectives.md).
	Departed time.Duration
	Done     time.Duration // with Ended: when the root had the result
	Tried    time.Duration // when the latest attempt began
	Limit    time.Duration // how long the timeouts of the broadcast allow it to take from Departed on
	LastRun  time.Duration // when a member last began to run the broadcast
	// Members are the nodes of the broadcast's tree: all members of the group, or the live ones.
	Members []sim.NodeID
	// Answered are the members whose answer arrived at the root; with Ended.
	Answered []sim.NodeID
	// Missing are the members that the root reports as unreached.
	Missing []Missing

	whole   *scoll.Membership // the group's members when the broadcast began
	order   order             // what the scenario wants of the broadcast
	excused bool              // the root was paused, slowed down or skewed
	late    bool              // the broadcast begins after the group had ended at all members: "nothing can be sent over it afterwards (ENOGROUP)" (docs/collectives.md)
	exact   bool              // the method isExact was called, and has found nothing wrong
	ran     []run             // runs of the broadcast by the latest incarnation that ran it, by node
	earlier []run             // runs by the incarnations before these
}

// Missing is a member that the root reports as unreached.
type Missing struct {
	Node   sim.NodeID   // the member
	Status scoll.Status // why the member is missing
}

// run counts how often one incarnation of a node has run a broadcast.
type run struct {
	node        sim.NodeID
	incarnation uint32
	times       uint32
}

// Elapsed returns the time from the beginning of a broadcast to the result at its root.
func (b *Broadcast) Elapsed() time.Duration { return b.Done - b.Begun }

// ledger records all broadcasts.
type ledger struct {
	net       *Net
	list      []*Broadcast
	twice     error // the first broadcast that one incarnation ran twice
	roster    error // the first broadcast that is for other members than the live ones
	altered   error // the first broadcast whose bulk data was different at a member
	unfounded error // the first broadcast with a member that is missing without a reason, or answered although it cannot
}

// Broadcasts returns all broadcasts so far. They change while the network runs.
func (n *Net) Broadcasts() []*Broadcast { return n.ledger.list }

// begin adds the broadcast that a line with the command "broadcast" in a scenario asks for.
func (l *ledger) begin(root sim.NodeID, args scenario.Args) *Broadcast {
	nodes := l.net.cfg.Nodes
	b := &Broadcast{
		Number: uint32(len(l.list) + 1), Root: root, Group: args.Word(0), Begun: l.net.Now(), Departed: l.net.Now(),
		order: readOrder(args), ran: make([]run, nodes), excused: l.net.faults.nodes[root].isSlow(),
	}
	if l.net.hasFewSlots() {
		b.Departed = machine.Never
	}
	if g := l.net.groups.byName[b.Group]; g != nil {
		b.late, b.whole = g.ended, g.members
	}
	l.list = append(l.list, b)
	l.log(root, history.Send, root, b)
	return b
}

// of returns a broadcast by its number, nil if there is none.
func (l *ledger) of(number uint32) *Broadcast {
	if number == 0 || int(number) > len(l.list) {
		return nil
	}
	return l.list[number-1]
}

// notSent records that a broadcast could not be sent.
func (b *Broadcast) notSent(s scoll.Status) { b.Outcome, b.Status = NotSent, s }

// ran is called when a node runs a broadcast.
func (l *ledger) ran(number uint32, incarnation sim.Incarnation) {
	b := l.of(number)
	if b == nil {
		return
	}
	if incarnation.Node == b.Root && l.net.hasFewSlots() {
		b.Departed = l.net.Now()
	}
	r, now := &b.ran[incarnation.Node], run{node: incarnation.Node, incarnation: uint32(incarnation.Number)}
	switch {
	case r.times == 0:
		*r = now
	case r.incarnation == now.incarnation:
		kit.Note(&l.twice, "node %v ran broadcast %s twice", incarnation.Node, b.name())
	default:
		b.earlier, *r = append(b.earlier, *r), now
	}
	r.times++
	b.LastRun = l.net.Now()
	if tell := l.net.cfg.Ran; tell != nil {
		tell(b, incarnation)
	}
}

// done records the result of a broadcast.
func (l *ledger) done(number uint32, got []byte, missing []Missing) {
	b := l.of(number)
	if b == nil {
		return
	}
	b.Outcome, b.Done, b.Missing = Ended, l.net.Now(), missing
	for ; len(got) >= entrySize; got = got[entrySize:] {
		b.Answered = append(b.Answered, sim.NodeID(binary.LittleEndian.Uint32(got)))
	}
	slices.Sort(b.Answered)
	slices.SortFunc(b.Missing, func(x, y Missing) int { return int(x.Node) - int(y.Node) })
	if l.unfounded == nil {
		l.unfounded = l.net.judge(b)
	}
	if l.net.Log != nil {
		l.logDone(b)
	}
}

// logDone writes a result to the history. It writes a delivery for each run of the broadcast by a member,
// unless the root reports that member as unreached: "such a member may have run the request"
// (docs/collectives.md). The delivery is that of the incarnation that ran the broadcast, so AtMostOnce does
// not count the run of a restarted member as a duplicate. The checkers expect a delivery at every node, so
// logDone also writes one for each node that is not in the tree.
func (l *ledger) logDone(b *Broadcast) {
	for _, m := range b.Missing {
		l.log(b.Root, history.Unreached, m.Node, b)
	}
	for id := range sim.NodeID(l.net.cfg.Nodes) {
		if !slices.Contains(b.Members, id) {
			l.log(id, history.Delivery, b.Root, b)
		}
	}
	for _, r := range slices.Concat(b.earlier, b.ran) {
		missing := slices.ContainsFunc(b.Missing, func(m Missing) bool { return m.Node == r.node })
		if r.node == b.Root || missing || !slices.Contains(b.Members, r.node) {
			continue
		}
		for range r.times {
			l.record(r.node, r.incarnation, history.Delivery, b.Root, b)
		}
	}
	l.log(b.Root, history.Completion, b.Root, b)
}

// log writes a record of the latest incarnation of a node to the history.
func (l *ledger) log(node sim.NodeID, kind history.Kind, subject sim.NodeID, b *Broadcast) {
	l.record(node, uint32(l.net.oracle.deaths[node]), kind, subject, b)
}

func (l *ledger) record(node sim.NodeID, incarnation uint32, kind history.Kind, subject sim.NodeID, b *Broadcast) {
	if n := l.net; n.Log != nil {
		n.Log.Append(history.Record{
			At: n.Now(), Node: node, Incarnation: incarnation, Kind: kind, Subject: subject, Value: uint64(b.Number),
		})
	}
}

// rootGone ends the broadcasts of a node whose incarnation has ended.
func (l *ledger) rootGone(id sim.NodeID) {
	for _, b := range l.list {
		if b.Root == id && b.Outcome == UnderWay {
			b.Outcome = RootGone
		}
	}
}

// excuse exempts the broadcasts of a node that are under way, and not late so far, from the time limit: "but for those
// whose root was paused, slowed down or skewed" (docs/scenarios.md).
func (l *ledger) excuse(id sim.NodeID) {
	for _, b := range l.list {
		b.excused = b.excused || b.Root == id && b.Outcome == UnderWay && !b.isLate(l.net.Now())
	}
}
