package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// set is a set of nodes, or a number of nodes that each run draws at random (by its seed) from a
// set.
type set struct {
	Any    int // number of nodes to draw from the set; 0: all
	Of     sim.NodeSet
	column int
}

func (s set) String() string {
	if s.Any > 0 {
		return fmt.Sprintf("any %d of %v", s.Any, s.Of)
	}
	return s.Of.String()
}

// action is what a fault changes in the network.
type action struct {
	verb    string
	column  int
	nodes   set
	to      set   // second set of a cut, stall or link
	sets    []set // sets of a partition
	keep    bool  // for a restart: the node keeps its state
	time    time.Duration
	ppm     int64
	change  link.Change
	rate    int64
	command string
	named   []set // sets of nodes in the arguments of a command
}

// actions has the verbs and the parsers of their arguments.
var actions = []struct {
	verb, form, doc string
	parse           func(*cursor, *action)
}{
	{"kill", "NODES", "end the process; its host refuses messages", (*cursor).nodesOnly},
	{"crash", "NODES", "end process and host: silence", (*cursor).nodesOnly},
	{"restart", "NODES [keeping state]", "begin a new incarnation, with or without what the program would have on disk", (*cursor).restart},
	{"pause", "NODES [for TIME]", "stop: messages queue, timers wait", (*cursor).pause},
	{"resume", "NODES", "end a pause", (*cursor).nodesOnly},
	{"skew", "NODES PPM", "the clock gains, or loses, so many µs per second", (*cursor).skew},
	{"slow", "NODES TIME", "every step costs so much more CPU time", (*cursor).slow},
	{"partition", "NODES [| NODES ...]", "these sets reach each other no more; one set: it and the rest", (*cursor).partition},
	{"cut", "NODES -> NODES", "nothing gets through in this direction", (*cursor).cut},
	{"stall", "NODES -> NODES for TIME", "all messages in this direction wait, and leave when the time is over", (*cursor).stall},
	{"heal", "", "end partitions and cuts", func(*cursor, *action) {}},
	{"link", "NODES -> NODES CHANGE", "change the network between these nodes, in this direction", (*cursor).link},
	{"links", "reset", "undo every change of links between nodes", func(c *cursor, _ *action) { c.want("reset") }},
	{"access", "NODES rate R", "change the bandwidth of these nodes", (*cursor).access},
	{"do", "NODES VERB [ARGUMENT ...]", "a command of the protocol", nil},
}

// action parses an action, up to the end of the line.
func (c *cursor) action(p *Protocol) action {
	var verbs []string
	for _, a := range actions {
		verbs = append(verbs, a.verb)
	}
	a := action{column: c.here().column}
	a.verb = c.choice("action", verbs)
	switch i := slices.Index(verbs, a.verb); {
	case i < 0:
	case a.verb == "do":
		c.command(&a, p)
	default:
		actions[i].parse(c, &a)
	}
	return a
}

func (c *cursor) nodesOnly(a *action) { a.nodes = c.set() }

func (c *cursor) restart(a *action) {
	a.nodes = c.set()
	if a.keep = c.accept("keeping"); a.keep {
		c.want("state")
	}
}

func (c *cursor) pause(a *action) {
	a.nodes = c.set()
	if c.accept("for") {
		a.time = c.period()
	}
}

// maxSkew is the largest skew, in ppm: double speed.
const maxSkew = 1_000_000

func (c *cursor) skew(a *action) {
	a.nodes = c.set()
	const form = "how much a clock gains, such as 200ppm or -50ppm"
	w := c.take(form)
	digits, ok := strings.CutSuffix(w.text, "ppm")
	n, err := strconv.ParseInt(digits, 10, 64)
	if a.ppm = n; !ok || err != nil || n < sim.MinSkew || n > maxSkew {
		c.fail(w, "%q: want %s, %d to %d", w.text, form, sim.MinSkew, maxSkew)
	}
}

func (c *cursor) slow(a *action) {
	a.nodes = c.set()
	a.time = c.time()
}

func (c *cursor) partition(a *action) {
	a.sets = append(a.sets, c.set())
	for c.accept("|") {
		a.sets = append(a.sets, c.set())
		if len(a.sets) > 1000 {
			c.fail(c.here(), "more than 1000 sets")
		}
	}
}

func (c *cursor) cut(a *action) {
	a.nodes = c.set()
	c.want("->")
	a.to = c.set()
}

func (c *cursor) stall(a *action) {
	c.cut(a)
	c.want("for")
	a.time = c.period()
}

func (c *cursor) link(a *action) {
	c.cut(a)
	a.change = c.change()
}

func (c *cursor) access(a *action) {
	a.nodes = c.set()
	c.want("rate")
	a.rate = c.rate()
}

func (c *cursor) command(a *action, p *Protocol) {
	a.nodes = c.set()
	names := texts(p.Verbs, func(v Verb) string { return v.Name })
	verb := c.choice("verb of "+p.Name, names)
	i := slices.Index(names, verb)
	if i < 0 {
		return
	}
	args, named := c.args(p.Verbs[i].Args)
	a.command, a.named = join(append([]string{verb}, args...)...), named
}

// timeWords are the words that may follow the arguments of a condition, and say when it is checked.
var timeWords = []string{"within", "by", "at", "from"}

// args parses arguments, and says which nodes they name.
func (c *cursor) args(want []Arg) (args []string, named []set) {
	for i := range want {
		if want[i].Optional && (!c.more() || slices.Contains(timeWords, c.here().text)) {
			break
		}
		column := c.here().column
		args = append(args, c.value(want[i].form()))
		if k := want[i].Kind; c.err == nil && (k == Node || k == NodeSet) {
			named = append(named, set{Of: Args(args).Nodes(i), column: column})
		}
	}
	return args, named
}

func (a *action) String() string {
	switch a.verb {
	case "restart":
		if a.keep {
			return join(a.verb, a.nodes.String(), "keeping state")
		}
	case "pause":
		if a.time > 0 {
			return join(a.verb, a.nodes.String(), "for", formatTime(a.time))
		}
	case "skew":
		return join(a.verb, a.nodes.String(), fmt.Sprintf("%dppm", a.ppm))
	case "slow":
		return join(a.verb, a.nodes.String(), formatTime(a.time))
	case "partition":
		return join(a.verb, strings.Join(texts(a.sets, set.String), " | "))
	case "cut":
		return join(a.verb, a.nodes.String(), "->", a.to.String())
	case "stall":
		return join(a.verb, a.nodes.String(), "->", a.to.String(), "for", formatTime(a.time))
	case "heal":
		return a.verb
	case "link":
		return join(a.verb, a.nodes.String(), "->", a.to.String(), a.change.String())
	case "links":
		return "links reset"
	case "access":
		return join(a.verb, a.nodes.String(), "rate", link.FormatRate(a.rate))
	case "do":
		return join(a.verb, a.nodes.String(), a.command)
	}
	return join(a.verb, a.nodes.String())
}
