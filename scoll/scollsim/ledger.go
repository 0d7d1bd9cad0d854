package scollsim

import (
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/scoll"
)

// Outcome says how far a broadcast is.
type Outcome uint8

// The outcomes.
const (
	UnderWay Outcome = iota
	Ended            // the root has the result
	NotSent          // the root could not send it, see Status
	RootGone         // the root's incarnation ended before
)

// Broadcast is one broadcast of a run.
type Broadcast struct {
	Number  uint32 // from 1
	Root    sim.NodeID
	Group   string
	Outcome Outcome
	Status  scoll.Status // with NotSent, why
	Begun   time.Duration
	Done    time.Duration // with Ended
	Limit   time.Duration // that its time-outs allow it
	LastRun time.Duration // when a member last began to run it
	// Members are those of its tree: all of the group, or the live ones.
	Members []sim.NodeID
	// Answered are those whose answer came to the root; with Ended.
	Answered []sim.NodeID
	// Missing are those of which the root says that none did, and why.
	Missing []Missing

	excused bool
	exact   bool  // it was found to be
	ran     []run // by node
}

// Missing is a member whose answer did not come, as the root says.
type Missing struct {
	Node   sim.NodeID
	Status scoll.Status
}

// run says how often a node has run a broadcast in an incarnation.
type run struct {
	times       uint32
	incarnation uint32
}

// Elapsed is how long a broadcast took from its beginning to the result at its
// root.
func (b *Broadcast) Elapsed() time.Duration { return b.Done - b.Begun }

// ledger keeps the books of broadcasts.
type ledger struct {
	net     *Net
	list    []*Broadcast
	twice   string // the first that one incarnation ran twice
	altered string // the first whose bulk data came otherwise than they were sent
	latest  map[course]uint32
	turned  string // the first that a member ran after a later one of its root
}

// course is what one incarnation of a node runs of one root over one group.
type course struct {
	incarnation sim.Incarnation
	root        sim.NodeID
	group       string
}

func (l *ledger) init(n *Net) { l.net, l.latest = n, make(map[course]uint32) }

// Broadcasts are all broadcasts so far. They change while the network runs.
func (n *Net) Broadcasts() []*Broadcast { return n.ledger.list }

// begin opens the books of a broadcast.
func (l *ledger) begin(root sim.NodeID, group string) *Broadcast {
	nodes := l.net.cfg.Nodes
	b := &Broadcast{
		Number: uint32(len(l.list) + 1), Root: root, Group: group, Begun: l.net.Now(),
		ran: make([]run, nodes),
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

// sent notes that the root has begun to send, and how long it may take.
func (b *Broadcast) sent(members []sim.NodeID, limit time.Duration) {
	b.Members, b.Limit = members, limit
}

// notSent notes that a broadcast could not be sent.
func (b *Broadcast) notSent(s scoll.Status) { b.Outcome, b.Status = NotSent, s }

// ran notes that a node runs a broadcast.
func (l *ledger) ran(number uint32, incarnation sim.Incarnation) {
	b := l.of(number)
	if b == nil {
		return
	}
	r := &b.ran[incarnation.Node]
	if r.times > 0 && r.incarnation == uint32(incarnation.Number) && l.twice == "" {
		l.twice = "node " + incarnation.Node.String() + " ran broadcast " + b.name() + " twice"
	}
	r.times, r.incarnation = r.times+1, uint32(incarnation.Number)
	b.LastRun = l.net.Now()
	c := course{incarnation, b.Root, b.Group}
	if number < l.latest[c] && l.turned == "" {
		l.turned = "node " + incarnation.Node.String() + " ran broadcast " + b.name() + " after a later one"
	}
	l.latest[c] = max(l.latest[c], number)
}

// done closes the books of a broadcast.
func (l *ledger) done(number uint32, got []byte, missing []Missing) {
	b := l.of(number)
	if b == nil {
		return
	}
	b.Outcome, b.Done, b.Missing = Ended, l.net.Now(), missing
	b.Answered = slices.AppendSeq(make([]sim.NodeID, 0, len(got)/entrySize), entries(got))
	slices.Sort(b.Answered)
	slices.SortFunc(b.Missing, func(x, y Missing) int { return int(x.Node) - int(y.Node) })
	if l.net.Log != nil {
		l.logDone(b)
	}
}

// logDone writes a result to the history. Nodes that are no members count as told.
func (l *ledger) logDone(b *Broadcast) {
	for _, m := range b.Missing {
		l.log(b.Root, history.Unreached, m.Node, b)
	}
	for _, id := range b.Answered {
		l.log(id, history.Delivery, b.Root, b)
	}
	for id := range sim.NodeID(l.net.cfg.Nodes) {
		if id != b.Root && !slices.Contains(b.Members, id) {
			l.log(id, history.Delivery, b.Root, b)
		}
	}
	l.log(b.Root, history.Completion, b.Root, b)
}

func (l *ledger) log(node sim.NodeID, kind history.Kind, subject sim.NodeID, b *Broadcast) {
	n := l.net
	if n.Log != nil {
		n.Log.Append(history.Record{
			At: n.Now(), Node: node, Incarnation: uint32(n.oracle.deaths[node]), Kind: kind, Subject: subject, Value: uint64(b.Number),
		})
	}
}

// rootGone notes that the incarnation of a node ends: nobody waits for its broadcasts.
func (l *ledger) rootGone(id sim.NodeID) {
	for _, b := range l.list {
		if b.Root == id && b.Outcome == UnderWay {
			b.Outcome = RootGone
		}
	}
}

// excuse notes that something keeps a node from ending its broadcasts in time.
func (l *ledger) excuse(id sim.NodeID) {
	for _, b := range l.list {
		b.excused = b.excused || b.Root == id
	}
}
