package engine

import (
	"hash/fnv"
	"slices"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// ballot is a list that members have told a new manager of as their newest one.
type ballot struct {
	version wire.Version
	sum     uint64        // of the members, as two lists with one version differ if somebody lies
	members []wire.Member // ascending numbers, unless somebody lies
	voters  uint32        // see Order
	of      int
	silent  []wire.ID // those of the list before that were left behind, and may live
	usable  bool      // all its members have it, as one of them says
	told    int       // by so many
	backers int       // see carries
}

// maxBallots bounds the lists that a new manager keeps.
const maxBallots = 16

// ballot takes note of the newest list of a member.
func (c *collect) ballot(o *wire.Order) {
	n := len(o.Members)
	if o.Window > 0 && o.Window < uint32(n) {
		n = int(o.Window)
	}
	b := ballot{version: o.Version, members: o.Members[:n:n], voters: o.Voters, of: int(o.Of), silent: o.Departed[len(o.Departed)-int(o.Silent):], sum: sumOf(o.Members[:n], o), told: 1}
	usable := o.Usable.Compare(o.Version) >= 0
	least := 0
	for i := range c.ballots {
		if other := &c.ballots[i]; other.version == b.version && other.sum == b.sum {
			other.told++
			other.usable = other.usable || usable
			return
		}
		if c.ballots[i].told < c.ballots[least].told {
			least = i
		}
	}
	b.usable = usable
	if len(c.ballots) < maxBallots {
		c.ballots = append(c.ballots, b)
		return
	}
	c.ballots[least] = b
}

func sumOf(members []wire.Member, o *wire.Order) uint64 {
	h := fnv.New64a()
	b := make([]byte, 0, wire.MemberSize)
	for _, m := range members {
		b = m.ID.AppendTo(b[:0])
		_, _ = h.Write(append(b, byte(m.Number), byte(m.Number>>8), byte(m.Number>>16), byte(m.Number>>24))) // it does not fail
	}
	return h.Sum64() ^ uint64(o.Voters)<<16 ^ uint64(o.Of)
}

// backed returns the list from which this manager may go on with the group, or nil: one of
// which most members answer and know no later one. Then none of a later list can have gone on
// without them: for that, most of this list would have to have that one, or to have ended. If
// somebody says that they had, and they answer, it is the list that most back, and of several
// the latest: a list of few members, who say that all others have ended, changes nothing.
func (g *Manager) backed() (best *ballot) {
	c := &g.collect
	var answers map[wire.ID]*probe
	for i := range c.ballots {
		b := &c.ballots[i]
		if b.backers = 0; 2*c.answered <= len(b.members)-len(g.dead)-len(g.incarnations) {
			continue // that cannot be enough
		}
		if answers == nil {
			answers = c.answers()
		}
		b.backers = g.carries(b, answers)
		if b.backers > 0 && (best == nil || b.backers > best.backers || b.backers == best.backers && b.version.Compare(best.version) > 0) {
			best = b
		}
	}
	return best
}

// leftBehind reports whether a list that most members have was made without a member, which
// had an earlier one: what the others did since then it cannot make up for. So it is with a
// member of a later list that was backed by fewer, and of which the others know nothing.
func (b *ballot) leftBehind(p *probe, all []ballot) bool {
	if p.version.Compare(b.version) < 0 {
		return !slices.ContainsFunc(b.members, func(m wire.Member) bool { return m.ID == p.ID })
	}
	return slices.ContainsFunc(all, func(other ballot) bool {
		return other.backers > 0 && other.version.Compare(b.version) > 0 && p.version.Compare(other.version) >= 0
	})
}

// answers are those who are asked, by who they are.
func (c *collect) answers() map[wire.ID]*probe {
	all := make(map[wire.ID]*probe, len(c.probes))
	for _, p := range c.probes {
		all[p.ID] = p
	}
	return all
}

// votes reports whether a member of a list counts: it has not ended, and does not leave.
func (g *Manager) votes(id wire.ID, p *probe) bool {
	switch {
	case g.find(id) != nil: // it obeys this manager already
		return true
	case p != nil && p.answered:
		return !p.leaving
	}
	return !g.ended(id)
}

// carries counts those who back a list, 0 if they are not enough. As long as not all have it,
// most of the list before have to do so too, because others may go on from that.
func (g *Manager) carries(b *ballot, answers map[wire.ID]*probe) int {
	yes, of, yesBefore, before := 0, 0, 0, b.of
	counted := make(map[nid.NID]bool, len(b.members))
	for _, m := range b.members {
		if counted[m.NID] {
			continue
		}
		counted[m.NID] = true
		p := answers[m.ID]
		if !g.votes(m.ID, p) {
			if m.Number < b.voters {
				before--
			}
			continue
		}
		of++
		if g.find(m.ID) == nil && (p == nil || !p.answered || !p.grants || p.version.Compare(b.version) > 0) {
			continue
		}
		yes++
		if m.Number < b.voters {
			yesBefore++
		}
	}
	for _, id := range b.silent {
		if !g.votes(id, answers[id]) {
			before--
		}
	}
	if 2*yes > of && (b.usable || before <= 0 || 2*yesBefore > before) {
		return yes
	}
	return 0
}
