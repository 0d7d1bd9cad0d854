package scenario

import (
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// attempts is how often a random fault is drawn again because it contradicts another.
const attempts = 200

// random draws the random faults. Each of them begins and ends between the
// times that its line names.
func (x *expansion) random() {
	index := uint64(0)
	for i := range x.file.lines {
		l := &x.file.lines[i]
		if l.fault == nil {
			continue
		}
		if index++; l.fault.when != whenRandom {
			continue
		}
		rng := rand.New(rand.NewPCG(x.seed, streamFaults^index))
		for n := range l.fault.count {
			if !x.add(l, rng) {
				x.fail(l, 1, "only %d of the %d faults find a place without contradicting others: want fewer, or a longer time", n, l.fault.count)
				return
			}
		}
	}
}

// add adds one random fault of the line l. It returns false if each fault that it has drawn
// contradicts other ones, or if the expansion takes too long.
func (x *expansion) add(l *line, rng *rand.Rand) bool {
	before := x.list
	for range attempts {
		kind := l.fault.kinds[rng.IntN(len(l.fault.kinds))]
		pair := x.drawFault(kind, l, rng)
		if x.crowded(pair) {
			continue
		}
		x.list = slices.Concat(before, pair)
		x.sort()
		if _, errs := x.resolve(x.list); len(errs) == 0 {
			return true
		}
		if x.visits > maxVisits {
			return false
		}
		x.list = before
	}
	return false
}

// drawFault draws a fault and returns its steps. A pause or a stall is one step, which has a length; any
// other fault has a step that begins it and a step that ends it.
func (x *expansion) drawFault(kind string, l *line, rng *rand.Rand) []step {
	span := l.fault.to - l.fault.from
	lasts := round(span/50 + time.Duration(rng.Int64N(int64(span/6)+1)))
	at := round(l.fault.from + time.Duration(rng.Int64N(int64(span-min(lasts, span-1)))))
	at = max(l.fault.from, min(at, l.fault.to-lasts))
	one := set{Of: sim.Nodes(sim.NodeID(rng.IntN(x.nodes)))}
	begin := action{verb: kind, nodes: one}
	end := begin
	switch kind {
	case "kill", "crash":
		end.verb, end.keep = "restart", rng.IntN(2) == 0
	case "pause":
		begin.time = lasts
		return []step{{at: at, line: l, action: begin}}
	case "stall":
		begin.time = lasts
		if begin.to = (set{Of: sim.AllNodes}); rng.IntN(2) == 0 {
			begin.nodes, begin.to = begin.to, begin.nodes
		}
		return []step{{at: at, line: l, action: begin}}
	case "skew":
		begin.ppm = 100 * (1 + rng.Int64N(20)) * (1 - 2*rng.Int64N(2))
	case "slow":
		begin.time = time.Duration(1+rng.IntN(20)) * 100 * time.Microsecond
	case "partition", "cut":
		begin.nodes, begin.to, begin.sets = x.divide(kind, rng)
		end = action{verb: "heal"}
	default:
		begin.verb, end.verb = "link", "link"
		begin.to, end.to = set{Of: sim.AllNodes}, set{Of: sim.AllNodes}
		begin.change, end.change = x.spoil(kind, rng)
	}
	return []step{{at: at, line: l, action: begin}, {at: at + lasts, line: l, action: end}}
}

// round rounds d to a few digits.
func round(d time.Duration) time.Duration {
	if r := d.Round(time.Millisecond); r > 0 {
		return r
	}
	return d
}

// divide draws nodes with consecutive numbers. A partition separates them from the rest; a cut
// stops what they send to any node.
func (x *expansion) divide(kind string, rng *rand.Rand) (from, to set, sets []set) {
	size := 1 + rng.IntN(max(1, x.nodes/2))
	first := rng.IntN(max(1, x.nodes-size+1))
	some := set{Of: sim.NodeRange(sim.NodeID(first), sim.NodeID(first+size-1))}
	if kind == "partition" {
		return set{}, set{}, []set{some}
	}
	return some, set{Of: sim.AllNodes}, nil
}

// spoil draws a change that makes links worse, and returns it with the change that undoes it.
func (x *expansion) spoil(kind string, rng *rand.Rand) (worse, before link.Change) {
	base := x.file.settings.link.Apply(link.Quality{})
	p := float64(5+rng.IntN(45)) / 100
	worse = link.Change{To: base}
	switch kind {
	case "loss":
		worse.Fields, worse.To.Loss = link.FieldLoss, p
	case "duplicate":
		worse.Fields, worse.To.Duplicate = link.FieldDuplicate, p
	case "reorder":
		worse.Fields, worse.To.Reorder = link.FieldReorder, p
	case "latency":
		worse.Fields = link.FieldLatency
		worse.To.Latency.Base = base.Latency.Base*time.Duration(2+rng.IntN(8)) + time.Millisecond
	}
	return worse, link.Change{Fields: worse.Fields, To: base}
}

// crowded reports whether a fault of the whole network would overlap another one of its kind. That
// is not allowed, because the end of one would end both.
func (x *expansion) crowded(pair []step) bool {
	group := wholeNetwork(pair[0].action.verb)
	if group == 0 {
		return false
	}
	first, last := pair[0].at, pair[len(pair)-1].at
	active := false
	for i := range x.list {
		s := &x.list[i]
		switch {
		case wholeNetwork(s.action.verb) != group:
		case s.at >= first && s.at <= last:
			return true
		case s.at < first:
			active = s.action.verb == "partition" || s.action.verb == "cut"
		}
	}
	return active
}

// wholeNetwork returns the group of a verb: each verb can undo the effect of those in its group for
// all nodes. 0 stands for verbs in no group.
func wholeNetwork(verb string) int {
	switch verb {
	case "partition", "cut", "heal":
		return 1
	case "link", "links":
		return 2
	}
	return 0
}
