package router

// Buffers is the state of one class, by the names that lnetctl shows.
type Buffers struct {
	Pages      int `json:"npages"`     // pages of one buffer
	Buffers    int `json:"nbuffers"`   // number of buffers configured
	Credits    int `json:"credits"`    // free buffers; if negative: minus the number of waiting messages
	MinCredits int `json:"mincredits"` // lowest Credits so far
	Memory     int `json:"memory"`     // bytes of buffers in use
	MaxMemory  int `json:"max_memory"` // most bytes that may be in use
}

// Snapshot is the state of a ledger at one instant.
type Snapshot struct {
	Tiny    Buffers `json:"tiny"`    // buffers for messages without payload
	Small   Buffers `json:"small"`   // buffers for payloads up to a page
	Large   Buffers `json:"large"`   // buffers for payloads up to 1 MiB
	Tickets int     `json:"tickets"` // messages that wait for a buffer or have one
	Waiting int     `json:"waiting"` // messages that wait for a buffer or credit
	Stalls  uint64  `json:"stalls"`  // number of times that a next hop has stalled
}

// Snapshot returns the ledger's present state.
func (l *Ledger) Snapshot() Snapshot {
	of := func(c bufferClass, pages int) Buffers {
		r := &l.rooms[c]
		return Buffers{Pages: pages, Buffers: r.buffers, Credits: r.credits(), MinCredits: r.lowest, Memory: r.taken, MaxMemory: r.bytes}
	}
	return Snapshot{
		Tiny: of(tinyBuffer, 0), Small: of(smallBuffer, 1), Large: of(largeBuffer, maxPayload/Page),
		Tickets: l.tickets, Waiting: l.waiting, Stalls: l.stalls,
	}
}

// Tickets is the number of messages that wait for a buffer or have one.
func (l *Ledger) Tickets() int { return l.tickets }

// Credits returns how many router credits a neighbour has, how many of them are left (a negative
// number if messages wait), and the lowest number that was left so far.
func (n *Neighbour) Credits() (limit, left, lowest int) {
	waiting := n.waiting.n
	for c := range n.wants {
		waiting += n.wants[c].list.n
	}
	return n.limit, n.limit - n.used - n.waiting.n, n.lowest
}
