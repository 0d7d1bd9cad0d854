package lnet

import (
	"time"

	"ulnet/lnd"
)

// stallTime is the time after which a peer counts as stalled: it holds NI credits while others
// wait, and none of its messages has left for so long.
const stallTime = 100 * time.Millisecond

// The classes of messages, as indexes of arrays that are ordered by class.
const (
	normal = 0
	urgent = 1
)

func classOf(priority bool) int {
	if priority {
		return urgent
	}
	return normal
}

// niCredits bounds the messages that connections of one NI have at a time
// (ni_tx_credits). A peer takes one for each message, or for each buffer of small messages (see
// lnd.Inliner), and returns it when the message has left, or has to wait for its connection to be dialled.
//
// Peers whose connection stands still, for instance because their receive window is closed,
// must not keep others from using the NI. So the credits that stalled peers hold above half of
// all credits are added as spare credits. While there are spare credits a stalled peer gets no
// more credits, and any other peer may have one message under way even if there is no credit
// left. So the delay for a moving peer does not depend on the number of stalled ones.
//
// The lock of the NI guards all fields, and the account of each peer.
type niCredits struct {
	limit   int // number of credits of the NI
	credits int // credits that no peer holds: limit minus the sum of account.held over all peers
	spare   int // number of credits that were added for other peers: what stalled peers hold above half of limit
	stalled int // number of credits that stalled peers hold
	lowest  int // fewest credits so far; negative: messages waited

	wanted  int          // number of messages that have a peer credit and wait for an NI credit
	waiters [2]peerQueue // by class: peers that wait for a credit, first in first out
	relief  peerQueue    // moved from waiters[normal] by review: each may send one message with a spare credit
	holders []*peerNI    // peers that hold credits, in any order

	waking  bool // a goroutine is running wakeWaiting
	watched bool // the timer of checkCredits is set
}

// account is what niCredits keeps for one peer.
type account struct {
	held    int  // number of credits that the peer holds
	index   int  // index of the peer in holders, if held > 0
	moved   bool // whether, since the last check, a message of the peer has left or held was 0
	stalled bool
	wants   int        // this peer's part of wanted; changed under peerNI.mu and NI.mu
	waiting [2]bool    // by class: whether the peer is in waiters
	next    [2]*peerNI // by class: next peer in waiters
}

// peerQueue is a list of peers with messages of one class, linked by the field account.next of that class.
type peerQueue struct{ head, tail *peerNI }

func (q *peerQueue) push(p *peerNI, class int) {
	if p.account.waiting[class] {
		return
	}
	p.account.waiting[class] = true
	if q.tail == nil {
		q.head = p
	} else {
		q.tail.account.next[class] = p
	}
	q.tail = p
}

func (q *peerQueue) pop(class int) *peerNI {
	p := q.head
	q.head, p.account.next[class] = p.account.next[class], nil
	if q.head == nil {
		q.tail = nil
	}
	p.account.waiting[class] = false
	return p
}

func newCredits(limit int) niCredits {
	return niCredits{limit: limit, credits: limit, lowest: limit}
}

// free returns how many credits there are for peers that are not stalled.
func (c *niCredits) free() int { return c.credits + c.spare }

// affords reports whether a peer may take a credit for a message of a class. Urgent messages may
// overdraw the credits, down to minus limit.
func (c *niCredits) affords(a *account, class int) bool {
	switch free := c.free(); {
	case free > 0 && !a.stalled, class == urgent && free > -c.limit:
		return true
	case c.spare == 0:
		return free > 0
	default:
		return a.held == 0 // a peer without credits is not stalled
	}
}

// take gives one credit to the peer p.
func (c *niCredits) take(p *peerNI) {
	a := &p.account
	if a.held == 0 {
		a.index, a.moved = len(c.holders), true
		c.holders = append(c.holders, p)
	}
	a.held++
	c.credits--
	c.lowest = min(c.lowest, c.credits)
	if a.stalled {
		c.stalled++
		c.setSpare()
	}
}

// put takes n credits back from a peer, which is not stalled any more.
func (c *niCredits) put(p *peerNI, n int) {
	a := &p.account
	if a.stalled {
		a.stalled = false
		c.stalled -= a.held
		c.setSpare()
	}
	a.moved = true
	a.held -= n
	c.credits += n
	if a.held == 0 {
		last := len(c.holders) - 1
		moved := c.holders[last]
		c.holders[a.index], moved.account.index = moved, a.index
		c.holders[last] = nil
		c.holders = c.holders[:last]
	}
}

// setSpare sets spare after a change of stalled.
func (c *niCredits) setSpare() { c.spare = max(0, c.stalled-c.limit/2) }

// want notes that a peer could use n credits.
func (c *niCredits) want(a *account, n int) {
	c.wanted += n - a.wants
	a.wants = n
}

// next removes from its list the peer whose turn it is. That is the peer with urgent messages
// that has waited longest or, if there is none, the other peer that has waited longest. It
// returns nil if no peer may go on.
func (c *niCredits) next() *peerNI {
	switch free := c.free(); {
	case c.waiters[urgent].head != nil && free > -c.limit:
		return c.waiters[urgent].pop(urgent)
	case c.relief.head != nil:
		return c.relief.pop(normal)
	case c.waiters[normal].head != nil && free > 0:
		return c.waiters[normal].pop(normal)
	}
	return nil
}

func (c *niCredits) anyWaits() bool {
	return c.waiters[normal].head != nil || c.waiters[urgent].head != nil || c.relief.head != nil
}

// review finds the peers that have stalled since the last call. If there are spare credits then,
// each peer that waits with normal messages gets a turn, in which it may have one message under
// way even if no credit is left.
func (c *niCredits) review() {
	for _, p := range c.holders {
		a := &p.account
		if !a.moved && !a.stalled {
			a.stalled = true
			c.stalled += a.held
		}
		a.moved = false
	}
	c.setSpare()
	if c.spare > 0 && c.relief.head == nil {
		c.relief, c.waiters[normal] = c.waiters[normal], peerQueue{}
	}
}

// takeCredit takes an NI credit for p, which could use want of them. If there is none, p waits
// for one. The caller holds p.mu.
func (ni *NI) takeCredit(p *peerNI, want int, priority bool) bool {
	class := classOf(priority)
	ni.mu.Lock()
	defer ni.mu.Unlock()
	c, a := &ni.tx, &p.account
	if c.affords(a, class) {
		c.take(p)
		if a.wants > 0 {
			c.want(a, 0)
		}
		ni.tellCredits()
		return true
	}
	c.want(a, want)
	c.lowest = min(c.lowest, -c.wanted)
	ni.tellCredits()
	// If this condition is false, p has stalled and waits in no queue: it is woken when the next of its messages
	// leaves.
	if !a.stalled || c.spare == 0 || class == urgent {
		c.waiters[class].push(p, class)
		ni.watchCredits()
	}
	return false
}

// postCredit takes an NI credit for p if there is one. The caller holds p.mu.
func (ni *NI) postCredit(p *peerNI) bool {
	ni.mu.Lock()
	defer ni.mu.Unlock()
	c := &ni.tx
	if !c.affords(&p.account, normal) {
		return false
	}
	c.take(p)
	ni.tellCredits()
	return true
}

// wantsNone notes that p has no message any more that could use an NI credit, for instance because its
// messages have become inline ones, or were moved to another NI. The caller holds p.mu.
func (ni *NI) wantsNone(p *peerNI) {
	if p.account.wants == 0 {
		return
	}
	ni.mu.Lock()
	ni.tx.want(&p.account, 0)
	ni.tellCredits()
	ni.mu.Unlock()
}

// undoCredit gives back a credit that postCredit took for a message that the driver refused. Unlike a
// credit that comes back when a message has left, this one is no sign that the peer moves: a stalled peer
// stays stalled.
func (ni *NI) undoCredit(p *peerNI) {
	a := &p.account
	ni.mu.Lock()
	moved, stalled := a.moved, a.stalled
	ni.tx.put(p, 1)
	if a.moved = moved; stalled && a.held > 0 {
		a.stalled = true
		ni.tx.stalled += a.held
		ni.tx.setSpare()
	}
	ni.tellCredits()
	ni.mu.Unlock()
	ni.wakeSenders()
}

// returnCredits gives n NI credits of p back and lets waiting peers go on.
func (ni *NI) returnCredits(p *peerNI, n int) {
	ni.mu.Lock()
	ni.tx.put(p, n)
	ni.tellCredits()
	if ni.tx.anyWaits() {
		ni.wakeWaiting()
	}
	ni.mu.Unlock()
}

// wakeSenders lets peers that wait for an NI credit go on, if there are credits.
func (ni *NI) wakeSenders() {
	ni.mu.Lock()
	if ni.tx.anyWaits() {
		ni.wakeWaiting()
	}
	ni.mu.Unlock()
}

// wakeWaiting lets waiting peers go on, in their order, while there are credits for them. If a
// peer has no waiting messages any more, or no peer credit, its turn goes to the next. The
// caller holds ni.mu, which is released and taken again.
//
// Only one goroutine at a time runs the loop. A message that fails at once returns its credit while
// the loop runs, and to return a credit is to call wakeWaiting again. If that call ran the loop too, a
// thousand peers whose messages have expired would make a stack of a thousand calls.
func (ni *NI) wakeWaiting() {
	if ni.tx.waking {
		return
	}
	ni.tx.waking = true
	for p := ni.tx.next(); p != nil; p = ni.tx.next() {
		ni.mu.Unlock()
		p.goOn()
		ni.mu.Lock()
	}
	ni.tx.waking = false
}

// watchCredits sets the timer that finds the peers which stall while other peers wait for
// credits. The caller holds ni.mu.
func (ni *NI) watchCredits() {
	if ni.tx.watched || ni.stopping.Load() {
		return
	}
	ni.tx.watched = true
	for _, p := range ni.tx.holders {
		p.account.moved = false
	}
	ni.node.cfg.Clock.AfterFunc(stallTime, ni.checkCredits)
}

// checkCredits is the function of the timer that watchCredits sets: it finds the peers that have stalled,
// and lets waiting peers go on.
func (ni *NI) checkCredits() {
	ni.mu.Lock()
	defer ni.mu.Unlock()
	ni.tx.review()
	ni.wakeWaiting()
	ni.tx.watched = false
	if ni.tx.anyWaits() {
		ni.watchCredits()
	}
}

// Waits implements lnd.Upcalls: lm keeps its peer credit, which bounds what the
// driver has, and gives its NI credit to messages that can leave.
func (ni *NI) Waits(lm *lnd.Message) {
	m := owner(lm)
	if m.peer == nil || m.waited {
		return
	}
	m.waited = true
	m.peer.mu.Lock()
	m.peer.dialled++
	m.peer.mu.Unlock()
	ni.returnCredits(m.peer, 1)
}
