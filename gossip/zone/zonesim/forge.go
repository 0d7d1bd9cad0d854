package zonesim

import (
	"fmt"

	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

var forgeries = []scenario.Verb{
	{Name: "accuse", Args: []scenario.Arg{nodesArg}, Doc: "the node tells its neighbours that it suspects all of these; machines only, like all below"},
	{Name: "bury", Args: []scenario.Arg{nodesArg}, Doc: "it tells them that these said goodbye in their latest incarnations"},
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
	set, err := sim.ParseNodes(rest, p.net.Nodes())
	if err != nil {
		p.net.Failed(fmt.Errorf("zonesim: %s %s: %w", verb, rest, err))
		return
	}
	var l wire.Lists
	for id := range set.All(p.net.Nodes()) {
		if r := p.group.ref(id); r != 0 && id != p.id {
			p.say(&l, verb, r, p.net.incs[id])
		}
	}
	p.lies = append(p.lies, &l)
}

// say adds a forged statement about a node to the lists of a message. The verb selects the
// statement; inc is the number of the node's latest incarnation.
func (p *program) say(l *wire.Lists, verb string, r wire.Ref, inc uint64) {
	now, _ := p.m.Has(r)
	old := wire.Version{Inc: max(inc, 2) - 1, Minor: 3}
	switch verb {
	case "accuse":
		l.Suspicions = append(l.Suspicions, wire.Suspicion{Reporter: p.m.Self(), Suspect: r, Version: now})
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
	for i := range forgeries {
		if forgeries[i].Name == verb {
			return true
		}
	}
	return verb == "lose" || verb == "gain"
}
