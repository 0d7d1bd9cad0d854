package zonesim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

var forgeries = []scenario.Verb{
	{Name: "accuse", Args: []scenario.Arg{nodesArg}, Doc: "the node tells its neighbours that it suspects all of these; machines only, like all below"},
	{Name: "frame", Args: []scenario.Arg{nodesArg, reportersArg, aheadArg}, Doc: "it tells them, in the names of all of REPORTERS, that these suspect all of NODES, in incarnations that are AHEAD later than the latest"},
	{Name: "bury", Args: []scenario.Arg{nodesArg, aheadArg}, Doc: "it tells them that these said goodbye, in such incarnations"},
	{Name: "replay", Args: []scenario.Arg{nodesArg}, Doc: "it repeats what was said of these in their earlier incarnations: that they live, are suspected by itself, and said goodbye"},
	{Name: "exalt", Args: []scenario.Arg{nodesArg}, Doc: "it tells them of incarnations of these that no node could ever refute"},
	{Name: "disagree", Args: []scenario.Arg{{Name: "on", Kind: scenario.Switch}}, Doc: "its hashes of views and attributes agree with no other node's from now on"},
}

// forge makes the node send messages that no machine would send.
func (p *program) forge(verb, rest string) {
	if verb == "disagree" {
		p.disagrees = rest == "on"
		return
	}
	args := strings.Fields(rest)
	about, by := p.members(verb, args[0]), []wire.Ref{p.m.Self()}
	if args = args[1:]; verb == "frame" {
		by, args = p.members(verb, args[0]), args[1:]
	}
	ahead := 0
	if len(args) > 0 {
		ahead, _ = strconv.Atoi(args[0])
	}
	var l wire.Lists
	for _, r := range about {
		if r != p.m.Self() {
			p.say(&l, verb, r, by, uint64(ahead))
		}
	}
	p.lies = append(p.lies, &l)
}

// members returns those nodes of a set that are in the zone of this one.
func (p *program) members(verb, text string) (list []wire.Ref) {
	set, err := sim.ParseNodes(text, p.net.Nodes())
	if err != nil {
		p.net.Failed(fmt.Errorf("zonesim: %s %s: %w", verb, text, err))
		return nil
	}
	for id := range set.All(p.net.Nodes()) {
		if r := p.group.ref(id); r != 0 {
			list = append(list, r)
		}
	}
	return list
}

// say adds a forged statement about node r to the lists of a message. The verb selects the
// statement; by are the reporters of suspicions, and ahead is by how much the incarnation in the
// statement exceeds the one that this node knows.
func (p *program) say(l *wire.Lists, verb string, r wire.Ref, by []wire.Ref, ahead uint64) {
	now, _ := p.m.Has(r)
	inc := p.net.incs[p.group.first+sim.NodeID(p.group.at(r))]
	old := wire.Version{Inc: max(inc, 2) - 1, Minor: 3}
	now.Inc += ahead
	switch verb {
	case "accuse", "frame":
		for _, reporter := range by {
			l.Suspicions = append(l.Suspicions, wire.Suspicion{Reporter: reporter, Suspect: r, Version: now})
		}
	case "bury":
		l.Leaves = append(l.Leaves, wire.Departure{Node: r, Version: now})
	case "exalt":
		l.Alive = append(l.Alive, wire.Member{Node: r, Version: wire.Version{Inc: 1 << 63, Minor: 1}})
	case "replay":
		if inc > 1 {
			l.Leaves = append(l.Leaves, wire.Departure{Node: r, Version: old})
			l.Alive = append(l.Alive, wire.Member{Node: r, Version: old})
			l.Suspicions = append(l.Suspicions, wire.Suspicion{Reporter: p.m.Self(), Suspect: r, Version: old})
		}
	}
}

// tellLies adds the forged lists to the messages of the machine, as an update.
func (p *program) tellLies() {
	out := &p.net.out
	for _, l := range p.lies {
		for _, to := range p.m.Neighbours(nil) {
			out.Sends = append(out.Sends, engine.Send{To: to, Message: wire.Message{
				Kind: wire.Update, From: p.m.Self(), Version: p.m.Version(), Lists: l,
			}})
		}
	}
	p.lies = p.lies[:0]
	for i := range out.Sends {
		if m := &out.Sends[i].Message; p.disagrees && m.Kind == wire.Heartbeat {
			m.Hash, m.Tables = ^m.Hash, ^m.Tables
		}
	}
}

// forges reports whether a command exists for bare machines only.
func forges(verb string) bool {
	return verb == "lose" || verb == "gain" || slices.ContainsFunc(forgeries, func(v scenario.Verb) bool { return v.Name == verb })
}
