// Package flood is the simplest protocol there is to simulate: rumours that
// everybody shall hear. It tests the simulator and shows how a protocol gets
// its scenarios.
//
// Who hears a rumour first tells it to some others, drawn at random. With the
// option again everybody also tells all it knows to one other node, again and
// again; that is what makes it robust.
package flood

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnet/machine"
)

// maxRumours is how many rumours there can be, numbered from 1.
const maxRumours = 64

// rumours is a message: a set of rumours.
type rumours uint64

// heard is the event of a node that heard a rumour, the Value, for the first
// time in its incarnation.
const heard = 1

// tick is how often a node looks after what it heard.
const tick = 100 * time.Millisecond

// config is what all nodes of a run have in common.
type config struct {
	nodes, fanout, size int
	again               time.Duration // 0: never
	forgets             bool          // the planted bug, see node.late
}

// node is the machine of one node.
type node struct {
	cfg   *config
	pcg   rand.PCG
	knows rumours
	fresh rumours // of knows: heard since the last tick
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
	// After a pause messages may come before a timer that is due.
	if now >= n.next {
		n.timer(now, out)
	}
	return n.next
}

// start sets the first timer, so that not all nodes have theirs at once.
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

// hear takes note of rumours, and passes on those that are new.
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

// tell sends rumours to a random node.
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

// late is a bug, planted for those who want to see one found: a node that
// wakes late takes what it heard last for lost, and forgets it.
func (n *node) late(now time.Duration) {
	if n.cfg.forgets && now > n.next+tick {
		n.knows &^= n.fresh
	}
}

// parse parses the command "tell N".
func parse(text string) rumours {
	number, _ := strings.CutPrefix(text, "tell ")
	i, err := strconv.Atoi(number)
	if err != nil || i < 1 || i > maxRumours {
		return 0
	}
	return 1 << (i - 1)
}
