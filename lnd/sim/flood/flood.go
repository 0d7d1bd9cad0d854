// Package flood is the simplest protocol to simulate: rumours that every node shall hear. It
// tests the simulator and is the example of how a protocol is adapted to scenarios.
//
// A node that hears a rumour for the first time passes it on to some random nodes. If the option
// named again is set, every node also tells all that it knows to one random node, periodically;
// that makes the protocol robust.
package flood

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnet/machine"
)

// maxRumours bounds the rumours, which are numbered from 1.
const maxRumours = 64

// rumours is a set of rumours, one bit each.
type rumours uint64

// heard is the event of a node that hears the rumour Value for the first time in its
// incarnation.
const heard = 1

// tick is the interval of the timer if only the planted bug needs one.
const tick = 100 * time.Millisecond

// config is what all nodes of a run share.
type config struct {
	nodes, fanout, size int
	again               time.Duration // interval of the option "again"; 0: never
	forgets             bool          // whether the planted bug is on; see node.late
}

// node is the state machine of one node.
type node struct {
	cfg   *config
	pcg   rand.PCG
	knows rumours
	fresh rumours // rumours that were heard since the last tick
	next  time.Duration
}

func (n *node) Step(now time.Duration, in sim.Input[rumours], out *sim.Output[rumours]) time.Duration {
	switch in.Kind {
	case sim.Start:
		n.start(now)
	case sim.Message:
		n.hear(in.Msg, out)
	case sim.Command:
		n.hear(parse(in.Text), out)
	}
	// After a pause a message may come before the timer that is due, so look at each input whether the
	// timer is due.
	if now >= n.next {
		n.timer(now, out)
	}
	return n.next
}

// start sets the first timer, at random so that nodes are not synchronized.
func (n *node) start(now time.Duration) {
	n.next = machine.Never
	if p := n.period(); p > 0 {
		n.next = now + 1 + time.Duration(n.pcg.Uint64()%uint64(p))
	}
}

// period is the time between two timers, 0 for none.
func (n *node) period() time.Duration {
	if n.cfg.again == 0 && n.cfg.forgets {
		return tick
	}
	return n.cfg.again
}

// hear records the rumours r and passes new ones on.
func (n *node) hear(r rumours, out *sim.Output[rumours]) {
	r &^= n.knows
	if r == 0 {
		return
	}
	n.knows |= r
	n.fresh |= r
	for i := range maxRumours {
		if r>>i&1 != 0 {
			out.Events = append(out.Events, sim.Event{Kind: heard, Value: uint64(i + 1)})
		}
	}
	for range n.cfg.fanout {
		n.tell(r, out)
	}
}

// tell sends the rumours r to a random node.
func (n *node) tell(r rumours, out *sim.Output[rumours]) {
	to := sim.NodeID(n.pcg.Uint64() % uint64(n.cfg.nodes))
	out.Sends = append(out.Sends, sim.Send[rumours]{To: to, Msg: r, Size: n.cfg.size})
}

func (n *node) timer(now time.Duration, out *sim.Output[rumours]) {
	n.late(now)
	n.fresh = 0
	n.next = now + n.period()
	if n.knows != 0 && n.cfg.again > 0 {
		n.tell(n.knows, out)
	}
}

// late is a bug, planted as an example for finding bugs: a node whose timer is late forgets
// the rumours heard since the last tick.
func (n *node) late(now time.Duration) {
	if n.cfg.forgets && now > n.next+tick {
		n.knows &^= n.fresh
	}
}

// parse returns the rumour in the command "tell N".
func parse(text string) rumours {
	number, _ := strings.CutPrefix(text, "tell ")
	i, err := strconv.Atoi(number)
	if err != nil || i < 1 || i > maxRumours {
		return 0
	}
	return 1 << (i - 1)
}
