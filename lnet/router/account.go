package router

import "time"

// room has the limits of a class of buffers, and how much of each limit is in use.
type room struct {
	buffers, bytes int // number of buffers, and bytes of memory, that are allowed
	used, taken    int // number of buffers, and bytes of memory, in use
	waiting        int // number of messages that wait for a buffer
	lowest         int // fewest credits so far
}

// credits returns the number of free buffers; if it is negative, that many messages wait.
func (r *room) credits() int { return r.buffers - r.used - r.waiting }

// Ticket is a message that is to be forwarded, for as long as it waits for a buffer or has one.
// The zero value is ready for Ask, and may be used again after it has ended.
type Ticket struct {
	Owner any // a value for the caller, which the ledger does not use

	from, to   *Neighbour
	class      bufferClass
	memory     int
	granted    bool
	kept       time.Duration // how long the message has kept its buffer from others while its payload arrives
	slow       bool          // the message counts in Ledger.slow
	extra      bool          // the credit is one of the extra ones, for next hops that have stalled
	in         *list         // list that has the ticket; nil: none
	prev, next *Ticket
}

// Neighbour is the account of a node next to the router, which sends messages to be forwarded
// and is the next hop of others. NewNeighbour makes one.
type Neighbour struct {
	limit   int // number of router credits
	used    int // number of router credits in use
	extra   int // extra credits in use, for messages to next hops that have stalled; above limit by messages under way alone, see Ledger.moveCredits
	lowest  int // fewest credits so far; if negative: minus the most messages that waited
	waiting list
	paidOff time.Duration // when the debt of the neighbour will be paid off, see Ledger.charge; past: it has none
	lateAt  time.Duration // when Late last returned a message of the neighbour
	wants   [bufferClasses]want
	outlet
}

// want has the messages of a neighbour that have a credit and wait for a buffer of one class.
type want struct {
	list   list
	after  *Neighbour // next neighbour in the ring
	inRing bool
}

// outlet is the state of a neighbour as next hop.
type outlet struct {
	held    [bufferClasses]int // by class: buffers with messages for this next hop
	taken   int                // bytes of the large buffers that the field held counts
	out     list               // messages on their way to this next hop
	movedAt time.Duration      // when a message last left for this next hop; before the first one has left: when the first of out was added
	still   time.Duration      // how long nothing has left, without pauses of the process; see Ledger.findStalled
	stalled bool
	lack    lack // neighbours that wait because this next hop has its share
	index   int  // index in Ledger.busy, unless out is empty
}

// NewNeighbour returns the account of a neighbour with this number of router credits.
func NewNeighbour(credits int) *Neighbour {
	credits = max(1, credits)
	return &Neighbour{limit: credits, lowest: credits}
}

// Idle reports whether n neither sends nor receives the message of any ticket.
func (n *Neighbour) Idle() bool {
	return n.used == 0 && n.extra == 0 && n.waiting.n == 0 && n.held == [bufferClasses]int{}
}
