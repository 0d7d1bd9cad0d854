package gossip

import "ulnet/lnet/nid"

// Bounds of what a message's clock may be.
const (
	maxClock = 1 << 62 // never accepted from here on
	maxJump  = 1 << 20 // ahead of a node that is in sync
)

// lamport is the clock of global gossip cycles (seed 003, Lamport clock). It
// runs at four to six units a cycle, because a ping and its reply each add one
// to the tick.
type lamport struct {
	value uint64
	// Who was last found in sync with us, and in which of our cycles: the last
	// one, and the last one that differs from it.
	peers  [2]int
	cycles [2]uint64
	ahead  ahead // the last clock that was too far ahead
}

// ahead is who told a clock that was not believed.
type ahead struct {
	from  nid.NID
	value uint64
	cycle uint64
}

// tick begins a cycle.
func (c *lamport) tick() { c.value++ }

// sync takes over the clock of an accepted message.
func (c *lamport) sync(header uint64) {
	if header >= c.value {
		c.value = header + 1
	}
}

// note remembers that a peer's clock was within the limit of ours.
func (c *lamport) note(peer int, cycle uint64) {
	if c.cycles[0] == 0 || c.peers[0] != peer {
		c.peers[1], c.cycles[1] = c.peers[0], c.cycles[0]
	}
	c.peers[0], c.cycles[0] = peer, cycle
}

// inSync reports whether two peers, or the only other one, were in sync with us
// within the last cycles.
func (c *lamport) inSync(cycle uint64, within, peers int) bool {
	last := c.cycles[min(1, peers-1)]
	return last > 0 && cycle-last <= uint64(within)
}

// vouched reports whether somebody else has lately told about the same clock
// that is too far ahead to be believed. Then it is: parts of a cluster that were
// cut off from each other for a day come together again (local policy).
func (c *lamport) vouched(from nid.NID, value, cycle uint64, within int) bool {
	a := c.ahead
	c.ahead = ahead{from, value, cycle}
	return a.from.IsValid() && a.from != from && cycle-a.cycle <= uint64(within) &&
		max(a.value, value)-min(a.value, value) < maxJump
}

// lost forgets who was in sync: our own clock stood still.
func (c *lamport) lost() { c.cycles = [2]uint64{} }
