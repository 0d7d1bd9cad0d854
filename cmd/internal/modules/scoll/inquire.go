package scoll

import (
	"context"

	"ulnet/cmd/internal/admin"
	"ulnet/cmd/internal/cli"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// Inquiry is the result of a question to servers.
type Inquiry struct {
	Answers   []admin.Piece      // answers of servers, sorted by NID
	Unreached map[nid.NID]string // servers that did not answer, with the reason
}

// Inquire sends an order to those of the given servers that are alive, for another module. The name
// of the group must be one that commands cannot use. Errors are those of [Module.Broadcast].
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
	b.names = true
	outcome, err := b.ask(ctx, &order)
	if ctx.Err() != nil {
		return nil, cli.Hint(&givenUp{ctx.Err()}, "ask with a smaller --limit")
	}
	if err != nil {
		return nil, failed(err)
	}
	answers, unreached, dead := b.account(order, outcome)
	q := &Inquiry{answers, map[nid.NID]string{}}
	for _, u := range unreached {
		q.Unreached[u.NID] = u.Error
	}
	for _, id := range dead {
		q.Unreached[id] = unreachedText(scoll.EHOSTDOWN)
	}
	return q, nil
}
