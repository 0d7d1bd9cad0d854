package rmcastsim

import (
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/engine"
)

// Status describes a node's part in the group; ok is false if it is down.
func (n *Net) Status(id sim.NodeID) (s engine.Status, ok bool) {
	switch {
	case !n.Up(id):
		return s, false
	case !n.cfg.Stacks:
		return n.programs[id].m.Status(), true
	case n.stacks[id].group == nil:
		return s, false
	}
	return n.stacks[id].group.Status(), true
}

// Managing describes the manager on a node; ok is false if it is down, or is none.
func (n *Net) Managing(id sim.NodeID) (g engine.Managing, ok bool) {
	switch {
	case !n.Up(id):
		return g, false
	case n.cfg.Stacks:
		return n.stacks[id].agent.Managed(Group)
	case n.programs[id].g == nil:
		return g, false
	}
	return n.programs[id].g.Status(), true
}

// stats are the counters of a node in its latest life.
func (n *Net) stats(id sim.NodeID) (s engine.Stats) {
	switch {
	case n.cfg.Stacks && n.stacks[id] != nil && n.stacks[id].group != nil:
		return n.stacks[id].group.Stats()
	case !n.cfg.Stacks && n.programs[id] != nil:
		return n.programs[id].m.Stats()
	}
	return s
}

// Counters are some counters of all nodes' latest lives.
func (n *Net) Counters() (sum engine.Stats) {
	for id := range sim.NodeID(n.cfg.Nodes) {
		s := n.stats(id)
		sum.Sent += s.Sent
		sum.Released += s.Released
		sum.Delivered += s.Delivered
		sum.Datagrams += s.Datagrams
		sum.Heartbeats += s.Heartbeats
		sum.Acks += s.Acks
		sum.Repairs += s.Repairs
		sum.Fetches += s.Fetches
		sum.Polls += s.Polls
		sum.Duplicates += s.Duplicates
		sum.Takeovers += s.Takeovers
		sum.LeftOut += s.LeftOut
		sum.Malformed += s.Malformed + s.Inconsistent + s.Forged
		sum.Held += s.Held
		sum.Stray += s.Stray
		sum.Discarded += s.Discarded
	}
	return sum
}

// LostCopies is how many copies of datagrams with payload receivers have lost, by
// Config.Loss.
func (n *Net) LostCopies() uint64 { return n.ledger.lostCopies }
