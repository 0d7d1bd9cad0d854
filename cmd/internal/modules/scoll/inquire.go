package scoll

import (
	"context"
	"slices"

	"ulnet/cmd/internal/admin"
	"ulnet/cmd/internal/cli"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// Inquiry is what came of a question to servers.
type Inquiry struct {
	Answers   []admin.Piece
	Unreached map[nid.NID]string // the others, and why
}

// Inquire asks servers of which another module knows, those of them that are alive. No
// command can use the name of the group. Errors are those of [Module.Broadcast].
func (m *Module) Inquire(ctx context.Context, name, origin string, servers []nid.NID, order admin.Order) (*Inquiry, error) {
	c, err := m.enabled()
	if err != nil {
		return nil, err
	}
	g, err := c.newGroup(name, origin, servers, scoll.Tree{})
	if err != nil {
		return nil, err
	}
	b, err := c.target(g, "", false)
	if err != nil {
		return nil, err
	}
	outcome, err := b.outcome(ctx, order)
	if namesDead(err) {
		order.Live = true
		if err = b.toLiving(); err == nil {
			outcome, err = b.outcome(ctx, order)
		}
	}
	if ctx.Err() != nil {
		return nil, cli.Hint(&givenUp{ctx.Err()}, "ask with a smaller --limit")
	}
	if err != nil {
		return nil, failed(err)
	}
	return &Inquiry{outcome.Answers, b.unreached(outcome)}, nil
}

// unreached says why servers have not answered.
func (b *target) unreached(outcome *admin.Outcome) map[nid.NID]string {
	why := map[nid.NID]string{}
	above := b.reasons(outcome.Unreached, false)
	for _, u := range outcome.Unreached {
		why[u.NID] = above(u)
	}
	for id, status := range b.lost { // any order: into a map
		why[id] = unreachedText(status)
	}
	for _, id := range slices.Concat(b.dead, outcome.LeftOut) {
		why[id] = unreachedText(scoll.EHOSTDOWN)
	}
	answered := map[nid.NID]bool{}
	for _, p := range outcome.Answers {
		answered[p.NID] = true
	}
	for _, id := range b.group.nids {
		if !answered[id] && why[id] == "" {
			why[id] = unreachedText(scoll.EPROTO)
		}
	}
	return why
}
