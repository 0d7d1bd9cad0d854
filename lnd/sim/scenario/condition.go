package scenario

import (
	"fmt"
	"slices"

	"ulnet/lnd/sim"
)

// common are the conditions that every protocol has.
var common = []struct {
	Condition
	holds func(c sim.Control, args Args) (bool, string)
}{
	{Condition{"up", []Arg{{Name: "nodes", Kind: NodeSet}}, "a process runs on all of these nodes"}, func(c sim.Control, args Args) (bool, string) {
		return each(c, args, c.Up, "is not up")
	}},
	{Condition{"down", []Arg{{Name: "nodes", Kind: NodeSet}}, "no process runs on any of these nodes"}, func(c sim.Control, args Args) (bool, string) {
		return each(c, args, func(id sim.NodeID) bool { return !c.Up(id) }, "is up")
	}},
	{Condition{"digest", []Arg{{Name: "hex", Kind: Word}}, "the digest of all events so far is this one"}, func(c sim.Control, args Args) (bool, string) {
		digest := fmt.Sprintf("%016x", c.Digest())
		return digest == args.Word(0), "it is " + digest
	}},
}

func each(c sim.Control, args Args, holds func(sim.NodeID) bool, why string) (bool, string) {
	for id := range args.Nodes(0).All(c.Nodes()) {
		if !holds(id) {
			return false, fmt.Sprintf("node %v %s", id, why)
		}
	}
	return true, ""
}

// counters are the quantities that every protocol has.
var counters = []struct {
	Quantity
	read func(s *sim.Stats) uint64
}{
	{Quantity{"messages", "", "messages sent"}, func(s *sim.Stats) uint64 { return s.Sent }},
	{Quantity{"bytes", "B", "bytes sent"}, func(s *sim.Stats) uint64 { return s.SentBytes }},
	{Quantity{"delivered", "", "messages delivered"}, func(s *sim.Stats) uint64 { return s.Delivered }},
	{Quantity{"lost", "", "messages lost by links"}, func(s *sim.Stats) uint64 { return s.Lost }},
	{Quantity{"duplicated", "", "messages that came twice"}, func(s *sim.Stats) uint64 { return s.Duplicated }},
	{Quantity{"reordered", "", "messages held back"}, func(s *sim.Stats) uint64 { return s.Reordered }},
	{Quantity{"cut-off", "", "messages kept back by partitions and cuts"}, func(s *sim.Stats) uint64 { return s.Cut }},
	{Quantity{"refused", "", "messages to nodes that were down"}, func(s *sim.Stats) uint64 { return s.Refused }},
	{Quantity{"inbox-full", "", "messages for which a node had no room"}, func(s *sim.Stats) uint64 { return s.InboxFull }},
	{Quantity{"queued", "", "events that are still to come"}, func(s *sim.Stats) uint64 { return uint64(s.Queued) }},
	{Quantity{"steps", "", "steps of machines"}, func(s *sim.Stats) uint64 { return s.Steps }},
}

// AllConditions are all conditions that a scenario file of this protocol can ask: those of the
// protocol, and those that exist for every protocol.
func (p *Protocol) AllConditions() []Condition {
	list := slices.Clone(p.Conditions)
	for _, c := range common {
		list = append(list, c.Condition)
	}
	return list
}

func (p *Protocol) conditionNames() []string {
	return texts(p.AllConditions(), func(c Condition) string { return c.Name })
}

// Quantities are all quantities that a scenario file of this protocol can compare with a number.
func (p *Protocol) Quantities() []Quantity {
	list := slices.Clone(p.Series)
	for _, c := range counters {
		list = append(list, c.Quantity)
	}
	return list
}

func (p *Protocol) quantityNames() []string {
	return texts(p.Quantities(), func(q Quantity) string { return q.Name })
}

// holds evaluates the claim at the present instant.
func (c *claim) holds(p *Protocol, inst Instance) (bool, string) {
	if c.op != "" {
		v := c.quantity(p, inst)
		return c.compare(v), fmt.Sprintf("%s is %s", c.name, formatNumber(v))
	}
	if slices.ContainsFunc(p.Conditions, func(own Condition) bool { return own.Name == c.name }) {
		return inst.Check(c.name, c.args)
	}
	for _, k := range common {
		if k.Name == c.name {
			return k.holds(inst, c.args)
		}
	}
	return false, "unknown condition"
}

func (c *claim) quantity(p *Protocol, inst Instance) float64 {
	if i := slices.IndexFunc(p.Series, func(q Quantity) bool { return q.Name == c.name }); i >= 0 {
		return inst.Sample()[i]
	}
	stats := inst.Stats()
	for _, k := range counters {
		if k.Name == c.name {
			return float64(k.read(&stats))
		}
	}
	return 0
}

func (c *claim) compare(v float64) bool {
	switch c.op {
	case "<":
		return v < c.value
	case "<=":
		return v <= c.value
	case "=":
		return v == c.value
	case "!=":
		return v != c.value
	case ">=":
		return v >= c.value
	}
	return v > c.value
}
