package engine

import (
	"cmp"
	"hash/fnv"
	"slices"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// ballot is one list that members have reported to a new manager as their newest.
type ballot struct {
	version wire.Version
	sum     uint64        // hash of the members: lists of one version differ if a member lies
	members []wire.Member // members of the list, ordered by number unless a member lies
	voters  uint32        // number of voters, see wire.Order
	of      int
	silent  []wire.ID // members that were left behind and may be alive, voters first
	usable  bool      // a member says that all members have the list
	told    int       // number of nodes that reported the list in their first answer
	backers int       // number of members that back the list, see carries
	passed  int       // number of leaving members on the list that know a later one
}

// maxBallots bounds the lists that a new manager keeps.
const maxBallots = 16

// ballot records the newest list that a member reports, and returns its hash. The parameter first says that this is the
// first answer of the member's node.
func (c *collect) ballot(o *wire.Order, first bool) uint64 {
	n := len(o.Members)
	if o.Window > 0 && o.Window < uint32(n) {
		n = int(o.Window)
	}
	b := ballot{version: o.Version, members: o.Members[:n:n], voters: o.Voters, of: int(o.Of), silent: o.Departed[len(o.Departed)-int(o.Silent):], sum: sumOf(o.Members[:n], o)}
	if first {
		b.told = 1
	}
	usable := o.Usable.Compare(o.Version) >= 0
	least := 0
	for i := range c.ballots {
		if other := &c.ballots[i]; other.version == b.version && other.sum == b.sum {
			other.told += b.told
			other.usable = other.usable || usable
			return b.sum
		}
		if c.ballots[i].told < c.ballots[least].told {
			least = i
		}
	}
	b.usable = usable
	if len(c.ballots) < maxBallots {
		c.ballots = append(c.ballots, b)
		return b.sum
	}
	c.ballots[least] = b
	return b.sum
}

func sumOf(members []wire.Member, o *wire.Order) uint64 {
	h := fnv.New64a()
	b := make([]byte, 0, wire.MemberSize)
	for _, m := range members {
		b = m.ID.AppendTo(b[:0])
		_, _ = h.Write(append(b, byte(m.Number), byte(m.Number>>8), byte(m.Number>>16), byte(m.Number>>24))) // never fails
	}
	return h.Sum64() ^ uint64(o.Voters)<<16 ^ uint64(o.Of)
}

// backed returns the list from which this manager may continue the group, or nil. More than half of
// the members on that list must answer and know no later list. Then no manager can have continued
// from a later list without them: for that, more than half of the members on this list would have to
// have the later list, or to have ended. Several lists can qualify if members that still answer are
// reported as ended. Then the list that beats the others wins.
func (g *Manager) backed() (best *ballot) {
	c := &g.collect
	var answers map[wire.ID]*probe
	for i := range c.ballots {
		b := &c.ballots[i]
		if b.backers, b.passed = 0, 0; 2*c.answered <= len(b.members)-len(g.dead)-len(g.incarnations) {
			continue // too few answers for a majority
		}
		if answers == nil {
			answers = c.answers()
		}
		b.backers = g.carries(b, answers)
		if b.backers > 0 && (best == nil || g.beats(b, best, answers)) {
			best = b
		}
	}
	return best
}

// beats reports whether this manager continues from the list a rather than from b if it may continue from either. The list
// with more backers outside the present group wins, so few members that claim that all others have ended cannot change the
// list. Among equals, the one wins that more nodes have: otherwise one node could leave a member behind by a later list
// without it. But if a leaving member of one list has the other one, that one goes on, so that this member is not left behind.
func (g *Manager) beats(a, b *ballot, answers map[wire.ID]*probe) bool {
	return cmp.Or(
		cmp.Compare(g.outside(a), g.outside(b)),
		cmp.Compare(g.passes(a, b, answers), g.passes(b, a, answers)),
		cmp.Compare(a.told, b.told),
		a.version.Compare(b.version),
	) > 0
}

// passes returns how many leaving members of the list b know a later one, if the list a leaves none behind that votes on b. A
// list that was made because members leave is like that. Other lists could be lies that leave any member behind.
func (g *Manager) passes(a, b *ballot, answers map[wire.ID]*probe) int {
	if b.passed == 0 {
		return 0
	}
	on := make(map[wire.ID]bool, len(a.members))
	for _, m := range a.members {
		on[m.ID] = true
	}
	stays := func(m wire.Member) bool {
		p := answers[m.ID] // either list leaves a member behind that was asked and has not answered
		return (p == nil || p.answered) && g.votes(m.ID, p)
	}
	if slices.ContainsFunc(b.members, func(m wire.Member) bool { return !on[m.ID] && stays(m) }) {
		return 0
	}
	return b.passed
}

// leftBehind reports whether the member p, which has answered, cannot go on with the list b that the majority has. There
// are two cases. If p is not on b, p missed messages, or knows a list whose members may go on without b; a member that is
// leaving has the list b although it is not on it. If p has a later list with fewer backers, the other members do not
// know that list.
func (b *ballot) leftBehind(p *probe, all []ballot) bool {
	if !slices.ContainsFunc(b.members, func(m wire.Member) bool { return m.ID == p.ID }) {
		return p.version != b.version || p.sum != b.sum
	}
	return slices.ContainsFunc(all, func(other ballot) bool {
		return other.backers > 0 && other.version.Compare(b.version) > 0 && p.version.Compare(other.version) >= 0
	})
}

// silentVoters returns the voters of the list b that were left behind: as many as are not members of b. Other silent
// members, such as those that have left, were never counted as voters, so it does not matter whether they have ended.
func (b *ballot) silentVoters() []wire.ID {
	n := b.of
	for _, m := range b.members {
		if m.Number < b.voters {
			n--
		}
	}
	return b.silent[:min(max(n, 0), len(b.silent))] // a member may have invented the numbers
}

// answers returns the probes of the members that were asked, by ID.
func (c *collect) answers() map[wire.ID]*probe {
	all := make(map[wire.ID]*probe, len(c.probes))
	for _, p := range c.probes {
		all[p.ID] = p
	}
	return all
}

// votes reports whether a member of a list counts: it has not ended and is not leaving.
func (g *Manager) votes(id wire.ID, p *probe) bool {
	switch {
	case g.find(id) != nil: // the member obeys this manager already
		return true
	case p != nil && p.answered:
		return !p.leaving
	}
	return !g.ended(id)
}

// carries returns how many members back a list, or 0 if they are no majority. While not all
// members have the list, a majority of the previous list must back it too, because another
// manager may continue from the previous list.
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
			if p != nil && p.answered && p.version.Compare(b.version) > 0 {
				b.passed++
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
	for _, id := range b.silentVoters() {
		if !g.votes(id, answers[id]) {
			before--
		}
	}
	if 2*yes > of && (b.usable || before <= 0 || 2*yesBefore > before) {
		return yes
	}
	return 0
}
