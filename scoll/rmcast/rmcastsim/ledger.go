package rmcastsim

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/wire"
)

// Outcome is the state of a message.
type Outcome uint8

// The outcomes.
const (
	Waiting    Outcome = iota // the message waits for room in the window
	UnderWay                  // the message is in flight
	Released                  // the origin was told that all live members have the message or, with ErrSplit, which of them may lack it
	Lost                      // the origin was told that it is unknown which members have the message
	OriginGone                // the origin's incarnation ended before the message's release
)

// Message is one message of a run.
type Message struct {
	Number  uint32        // number of the message in the run, from 1
	Origin  sim.NodeID    // node that sends the message
	ID      rmcast.ID     // ID of the origin when it accepted the message
	Size    int           // size in bytes
	Outcome Outcome       // state of the message
	Begun   time.Duration // when the origin was told to send the message
	Sent    time.Duration // when the origin's machine accepted the message
	Last    time.Duration // time of the message's latest delivery
	Done    time.Duration // when the outcome became known, if it is Released or Lost
	Result  rmcast.Result // result for the origin, if the outcome is Released
	Why     error         // if the outcome is Lost, the reason; if it is Released, ErrSplit or nil

	got []uint64 // for each node, the incarnation of its member that has delivered the message; 0: none
}

// Elapsed is the time from the acceptance of a message to its release.
func (m *Message) Elapsed() time.Duration { return m.Done - m.Sent }

// over reports whether the outcome of a message is final.
func (m *Message) over() bool { return m.Outcome >= Released }

// name identifies a message in errors.
func (m *Message) name() string { return fmt.Sprintf("%d of node %v", m.Number, m.Origin) }

// leastSize is the size of a message's number, in bytes.
const leastSize = 4

// payload returns the content of a message: its number, and bytes that depend on the number
// and their position.
func (m *Message) payload() []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, m.Size), m.Number)
	for i := len(b); i < m.Size; i++ {
		b = append(b, byte(m.Number)+byte(i>>8)^byte(i)*31)
	}
	return b
}

// ledger records all messages and checks them.
type ledger struct {
	net      *Net
	all      []*Message
	versions map[rmcast.Version][]rmcast.Member
	listed   [][]rmcast.ID           // by node: its members that were on a list
	left     map[rmcast.ID]bool      // members that left; true: they may lack messages that were in flight
	gaveUp   map[rmcast.ID]bool      // members that gave up their membership
	died     map[rmcast.ID]bool      // members that have ended because gossip was certain of their death
	order    map[[2]rmcast.ID]uint64 // sequence number of the latest delivery, by receiver and origin
	families map[rmcast.ID]int       // members that were on one list, or each on one with a third member, have the same number
	problems problems
	open     int // number of messages whose outcome is not final

	deliveries uint64
	lostCopies uint64 // copies of datagrams with payload that receivers lost
	suspects   uint64
	elapsed    time.Duration // time from begin to release of the latest released message
}

// problems are the first violation of each kind.
type problems struct {
	proven, once, content, order, failed, success, lost error
}

func (l *ledger) init(n *Net) {
	l.net, l.versions, l.order = n, make(map[rmcast.Version][]rmcast.Member), make(map[[2]rmcast.ID]uint64)
	l.listed, l.families = make([][]rmcast.ID, n.cfg.Nodes), make(map[rmcast.ID]int)
	l.left, l.gaveUp, l.died = make(map[rmcast.ID]bool), make(map[rmcast.ID]bool), make(map[rmcast.ID]bool)
}

// begin records the messages of the command "send COUNT SIZE".
func (l *ledger) begin(origin sim.NodeID, args scenario.Args) (list []*Message) {
	size := max(args.Int(1), leastSize)
	for range cmp.Or(args.Int(0), 1) {
		m := &Message{
			Number: uint32(len(l.all) + 1), Origin: origin, Size: size, Begun: l.net.Now(), got: make([]uint64, l.net.cfg.Nodes),
		}
		l.all = append(l.all, m)
		list = append(list, m)
	}
	l.open += len(list)
	return list
}

// accepted is called when a message is in flight.
func (l *ledger) accepted(m *Message, seq uint64) {
	m.Outcome, m.Sent, m.ID, m.Result.Seq = UnderWay, l.net.Now(), l.net.id(m.Origin), seq
}

// delivered records and checks the delivery of a message by a node.
func (l *ledger) delivered(at sim.NodeID, origin rmcast.ID, seq uint64, data []byte) {
	n := l.net
	l.deliveries++
	var m *Message
	if len(data) >= leastSize {
		if number := binary.LittleEndian.Uint32(data); number > 0 && int(number) <= len(l.all) {
			m = l.all[number-1]
		}
	}
	if m != nil && m.Result.Seq == 0 { // Seq is unknown: agents report it only on release
		m.Result.Seq = seq
	}
	if m == nil || !bytes.Equal(data, m.payload()) || m.ID != origin || m.Result.Seq != seq {
		kit.Note(&l.problems.content, "at %v node %v delivers what %v has not sent as %d", n.Now(), at, origin, seq)
		return
	}
	if m.got[at] != 0 {
		kit.Note(&l.problems.once, "at %v node %v delivers message %s again", n.Now(), at, m.name())
	}
	m.got[at], m.Last = n.nodes[at].incarnation, n.Now()
	l.ordered(n.id(at), m)
}

// ordered checks that messages are delivered in the order in which their origin sent them.
func (l *ledger) ordered(to rmcast.ID, m *Message) {
	key := [2]rmcast.ID{to, m.ID}
	if before := l.order[key]; before > m.Result.Seq && l.net.cfg.Rmcast.FIFO {
		kit.Note(&l.problems.order, "at %v %v delivers message %s, which is %d, after %d", l.net.Now(), to, m.name(), m.Result.Seq, before)
	}
	l.order[key] = max(l.order[key], m.Result.Seq)
}

// list is called with the roster of a version, and records its members.
func (l *ledger) list(v rmcast.Version, members []rmcast.Member) {
	if !v.IsValid() || l.versions[v] != nil {
		return
	}
	l.versions[v] = members
	for _, m := range members {
		if of := &l.listed[kit.NodeOf(m.NID)]; !slices.Contains(*of, m.ID) {
			*of = append(*of, m.ID)
		}
	}
	l.unite(members)
}

// released is called when the origin of a message was told that all live members have it, and
// checks that (RM-2). why is nil or ErrSplit.
func (l *ledger) released(m *Message, r rmcast.Result, why error) {
	if m.over() {
		kit.Note(&l.problems.once, "at %v message %s ends again: released", l.net.Now(), m.name())
		return
	}
	m.Outcome, m.Done, m.Result, m.Why = Released, l.net.Now(), r, why
	l.open--
	l.elapsed = m.Elapsed()
	members, ok := l.versions[r.Version]
	if !ok {
		kit.Note(&l.problems.proven, "message %s is released in version %v, which nobody has listed", m.name(), r.Version)
	}
	for _, member := range members {
		node := kit.NodeOf(member.NID)
		if m.got[node] != member.Incarnation && !slices.Contains(r.Failed, member.ID) {
			kit.Note(&l.problems.proven, "at %v message %s is released, and %v has not delivered it", m.Done, m.name(), member.ID)
		}
	}
	for _, id := range r.Failed {
		l.failed(m, id)
		l.success(m, id)
	}
}

// failed checks that a member that is named as failed has ended, or may have been left behind since
// the message was sent, see mayExpel. A member that was left behind and has joined again has not
// ended: its process goes on.
func (l *ledger) failed(m *Message, id rmcast.ID) {
	n, node := l.net, kit.NodeOf(id.NID)
	if l.goesOn(id) && !n.mayExpel(node, m.Sent) {
		kit.Note(&l.problems.failed, "at %v message %s is released, and %v is named as failed, which lives", m.Done, m.name(), id)
	}
}

// goesOn reports whether the process of a member goes on, and has neither left nor given up the
// membership: "the member gives its membership up (`healed`), and so has ended" (docs/multicast.md).
// Nor has gossip ended it, see gossip.ends. A member that was told to leave goes on until it has left, or may stop.
func (l *ledger) goesOn(id rmcast.ID) bool {
	n, node := l.net, kit.NodeOf(id.NID)
	for manager := range n.gossip.sights {
		n.gossip.ends(sim.NodeID(manager), node)
	}
	_, left := l.left[id]
	if left || id == n.id(node) && n.mayStop(node) {
		return false
	}
	return n.Up(node) && id.Incarnation >= n.nodes[node].began && !l.gaveUp[id] && !l.died[id]
}

// success checks the members that are named as failed. Each must have died, left after the message or come back
// as another member, unless the origin got ErrSplit. Having been cut off or slow is no excuse.
func (l *ledger) success(m *Message, id rmcast.ID) {
	unfinished, left := l.left[id]
	if m.Why == nil && (l.goesOn(id) || left && !unfinished && !l.died[id]) && m.got[kit.NodeOf(id.NID)] != id.Incarnation {
		kit.Note(&l.problems.success, "at %v message %s is a success, and %v lives and has not delivered it", m.Done, m.name(), id)
	}
}

// healed is called when a node is not a member any more. If times has risen, the node gave up
// its membership itself.
func (l *ledger) healed(id sim.NodeID, times uint64) {
	node := &l.net.nodes[id]
	if times > node.healed {
		l.gaveUp[l.net.id(id)] = true
		if !l.net.mayHeal(id) {
			kit.Note(&l.problems.failed, "at %v node %v gave its membership up, and no manager had a fault", l.net.Now(), id)
		}
	}
	node.healed = times
}

// ended is called when the origin of a message got an error, which means that it is unknown
// which members have the message.
func (l *ledger) ended(m *Message, why error) {
	if m.over() {
		kit.Note(&l.problems.once, "at %v message %s ends again: %w", l.net.Now(), m.name(), why)
		return
	}
	l.mayLose(m, why)
	m.Outcome, m.Done, m.Why = Lost, l.net.Now(), why
	l.open--
}

// mayLose checks the error with which a message ends.
func (l *ledger) mayLose(m *Message, why error) {
	n, origin := l.net, m.Origin
	node, right := &n.nodes[origin], false
	switch {
	case errors.Is(why, engine.ErrTooLong):
		right = m.Size > n.cfg.Manager.Fragment // only a message of several datagrams can be too long
	case errors.Is(why, engine.ErrUnfinished):
		right = n.mayStop(origin) || n.mayFail(origin) || l.outvoted(m.ID)
	case errors.Is(why, engine.ErrNotMember), errors.Is(why, engine.ErrLeft): // "A member that leaves first finishes its own messages"
		right = m.Outcome == Waiting && (!node.wants || node.leaving)
	case errors.Is(why, engine.ErrExpelled): // "its own messages in flight end with `ErrExpelled`"
		healed := n.incarnations[origin].stats().Healed > node.healed // compare the counters, because the ledger learns only after this call that the member has given up
		right = healed || l.gaveUp[m.ID] || l.died[m.ID] || l.outvoted(m.ID) || n.mayExpel(origin, m.Sent)
	}
	if !right {
		kit.Note(&l.problems.lost, "at %v message %s of a member that is fine is lost: %w", n.Now(), m.name(), why)
	}
}

// originGone ends the messages of a node whose incarnation ends.
func (l *ledger) originGone(id sim.NodeID) {
	for _, m := range l.all {
		if m.Origin == id && !m.over() {
			m.Outcome = OriginGone
			l.open--
		}
	}
}

// lost is called when a receiver loses a multicast datagram. It counts those with payload.
func (l *ledger) lost(b []byte) {
	if d, _, err := wire.ParseDatagram(b); err == nil && d.Count > 0 {
		l.lostCopies++
	}
}

// problems returns the violations found. A message violates the rules if it was released before
// all had it, if it was delivered twice, altered or out of order, or if it names a live member
// as failed.
func (n *Net) problems() error {
	p := &n.ledger.problems
	return errors.Join(p.proven, p.once, p.content, p.order, p.failed, p.success, p.lost)
}
