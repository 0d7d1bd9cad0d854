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
	RootGone         // the root's life ended before
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
	exact   bool   // it was found to be
	attempt uint64 // label of the latest; 0: there was one only
	ran     []run  // by node
	holder  []mark // by node: where its answer has come to
	replied []mark // by node: whether its service has
}

// mark is what is known of a node in an attempt.
type mark struct {
	some    bool
	at      sim.NodeID
	attempt uint64
}

// put takes note of something, unless a later attempt has.
func (m *mark) put(at sim.NodeID, attempt uint64) {
	if !m.some || attempt >= m.attempt {
		*m = mark{true, at, attempt}
	}
}

// in returns the mark if it is of the latest attempt.
func (b *Broadcast) in(m mark) (at sim.NodeID, ok bool) {
	return m.at, m.some && (b.attempt == 0 || b.attempt == m.attempt)
}

// Missing is a member whose answer did not come, as the root says.
type Missing struct {
	Node   sim.NodeID
	Status scoll.Status
}

// run says how often a node has run a broadcast in a life.
type run struct {
	times uint32
	life  uint32
}

// Elapsed is how long a broadcast took from its beginning to the result at its
// root.
func (b *Broadcast) Elapsed() time.Duration { return b.Done - b.Begun }

// ledger keeps the books of broadcasts.
type ledger struct {
	net     *Net
	list    []*Broadcast
	twice   string // the first that one life ran twice
	altered string // the first whose bulk data came otherwise than they were sent
}

func (l *ledger) init(n *Net) { l.net = n }

// Broadcasts are all broadcasts so far. They change while the network runs.
func (n *Net) Broadcasts() []*Broadcast { return n.ledger.list }

// begin opens the books of a broadcast.
func (l *ledger) begin(root sim.NodeID, group string) *Broadcast {
	nodes := l.net.cfg.Nodes
	b := &Broadcast{
		Number: uint32(len(l.list) + 1), Root: root, Group: group, Begun: l.net.now(),
		ran: make([]run, nodes), holder: make([]mark, nodes), replied: make([]mark, nodes),
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
func (l *ledger) ran(number uint32, life sim.Life) {
	b := l.of(number)
	if b == nil {
		return
	}
	r := &b.ran[life.Node]
	if r.times > 0 && r.life == uint32(life.Number) && l.twice == "" {
		l.twice = "node " + life.Node.String() + " ran broadcast " + b.name() + " twice"
	}
	r.times, r.life = r.times+1, uint32(life.Number)
	b.LastRun = l.net.now()
}

// came notes that a child's reply has come to a node.
func (l *ledger) came(w *work, at sim.NodeID, reply []byte) {
	b := l.of(w.number)
	if b == nil {
		return
	}
	for id := range entries(reply) {
		if int(id) < len(b.holder) {
			b.holder[id].put(at, w.attempt)
		}
	}
}

// replied notes that the service of a node has.
func (l *ledger) replied(w *work, id sim.NodeID) {
	if b := l.of(w.number); b != nil {
		b.replied[id].put(id, w.attempt)
	}
}

// done closes the books of a broadcast.
func (l *ledger) done(number uint32, got []byte, missing []Missing) {
	b := l.of(number)
	if b == nil {
		return
	}
	b.Outcome, b.Done, b.Missing = Ended, l.net.now(), missing
	b.Answered = slices.AppendSeq(make([]sim.NodeID, 0, len(got)/entrySize), entries(got))
	slices.Sort(b.Answered)
	slices.SortFunc(b.Missing, func(x, y Missing) int { return int(x.Node) - int(y.Node) })
	if l.net.cfg.Log != nil {
		l.logDone(b)
	}
}

// logDone writes a result to the history. Whose answer was lost at a silent
// service on its way counts as told, and who is no member.
func (l *ledger) logDone(b *Broadcast) {
	for _, m := range b.Missing {
		l.log(b.Root, history.Unreached, m.Node, b)
	}
	for _, id := range b.Answered {
		l.log(id, history.Delivery, b.Root, b)
	}
	for id := range sim.NodeID(l.net.cfg.Nodes) {
		if b.swallowed(id) || id != b.Root && !slices.Contains(b.Members, id) {
			l.log(id, history.Delivery, b.Root, b)
		}
	}
	l.log(b.Root, history.Completion, b.Root, b)
}

func (l *ledger) log(node sim.NodeID, kind history.Kind, subject sim.NodeID, b *Broadcast) {
	n := l.net
	if n.cfg.Log != nil {
		n.cfg.Log.Append(history.Record{
			At: n.now(), Node: node, Life: uint32(n.oracle.deaths[node]), Kind: kind, Subject: subject, Value: uint64(b.Number),
		})
	}
}

// rootGone notes that the life of a node ends: nobody waits for its broadcasts.
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
