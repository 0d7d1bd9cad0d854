package scoll

import (
	"log/slog"
	"slices"

	"ulnet/lnet/nid"
)

// list has the nodes that count as listed: they may be members and roots of groups at this node.
// It is immutable.
type list struct {
	nids map[nid.NID]bool
	sets []nid.Set
}

func (l *list) has(id nid.NID) bool {
	return l.nids[id] || slices.ContainsFunc(l.sets, func(s nid.Set) bool { return s.Has(id) })
}

// newList returns the list of nodes: those of the key allow_members or, if it is not set, the
// participants of gossip and the members of all groups. The roots and relays of the section
// admin are always added. If all of these are empty, newList returns nil, and all nodes count as
// listed.
func (c *collective) newList() *list {
	l := &list{nids: map[nid.NID]bool{}, sets: slices.Clone(c.cfg.AllowMembers)}
	add := func(ids []nid.NID) {
		for _, id := range ids {
			l.nids[id] = true
		}
	}
	if len(l.sets) == 0 {
		add(c.m.participantNIDs())
		for _, g := range c.cfg.Groups {
			add(g.NIDs)
		}
	}
	if len(l.sets)+len(l.nids) == 0 {
		return nil
	}
	l.sets = append(append(l.sets, c.cfg.Admin.AllowRoots...), c.cfg.Admin.AllowRelays...)
	c.groups.mu.Lock()
	defer c.groups.mu.Unlock()
	for _, g := range c.groups.named { // any order: the result is a set
		add(g.nids)
	}
	return l
}

// relist updates the list, because the participants of gossip or the groups may have changed. If
// there are keys, only nodes that have a key are heard, so no node counts as a stranger.
func (c *collective) relist() {
	if c.cfg.Keys.Len() > 0 {
		return
	}
	c.relisting.Lock() // so that another call, which made its list earlier, cannot replace this list
	defer c.relisting.Unlock()
	l := c.newList()
	c.listed.Store(l)
	if l == nil {
		c.agent.SetListed(nil)
		return
	}
	c.agent.SetListed(l.has)
}

func (c *collective) isStranger(id nid.NID) bool {
	l := c.listed.Load()
	return l != nil && id != c.self && !l.has(id)
}

// distrust returns the setting because of which any process could use the NID of parent; "": there is
// none.
func (c *collective) distrust(parent nid.NID) string {
	if c.cfg.Keys.Len() > 0 || c.cfg.Admin.Unidentified {
		return ""
	}
	return c.m.Config.BelievedPorts(parent.Net().Type())
}

// warn logs at the start if the configuration is open to all nodes, or makes this node refuse
// all actions.
func (c *collective) warn() {
	log := c.m.Log
	if c.cfg.Keys.Len() == 0 && c.listed.Load() == nil {
		log.Warn("collectives take members and roots from everybody: name groups, run gossip, or set allow_members or key_file in the section scoll")
	}
	if why := c.distrust(c.self); why != "" && len(c.cfg.Admin.Actions) > 0 && len(c.cfg.Admin.AllowRoots) > 0 {
		log.Warn("actions of others are refused, because users without privilege can have the NID of any host: set key_file in the section scoll, or actions_without_identity: yes in its section admin",
			slog.String("setting", why))
	}
}
