package collective

import (
	"context"

	"ulnet/scoll"
)

// Barrier is where all members of a group wait for each other.
type Barrier struct{ m *meeting }

// NewBarrier registers a barrier. Errors as scoll.Agent.RegisterService.
func NewBarrier(a *scoll.Agent, id scoll.ServiceID) (*Barrier, error) {
	m, err := register(a, id, scoll.Handler{Merge: func(a, _ []byte) ([]byte, error) { return a, nil }})
	return &Barrier{m}, err
}

// Wait comes to the barrier of a name, and returns when the member that leads says that all
// have. The error is ErrIncomplete, ErrTwice, ErrName, or that of ctx: then others may have
// been let through.
func (b *Barrier) Wait(ctx context.Context, name string) error {
	_, err := b.m.wait(ctx, name, nil)
	return err
}

// Lead comes to the barrier of a name and asks all members of a group to; g is one of its
// service. It returns when all have come, and have been told. With an error the result, if
// there is one, says who did not come in time, and the others were told that. Members have
// as long as ctx leaves, 5 seconds without a deadline; telling them takes as long as a call
// more. EINVAL: the group is one of another service.
func (b *Barrier) Lead(ctx context.Context, g *scoll.Group, name string) (*scoll.Result, error) {
	return b.m.lead(ctx, g, name, nil)
}

// Allgather gives all members of a group what each of them brings.
type Allgather struct{ m *meeting }

// NewAllgather registers an allgather whose members bring up to maxBytes each, the same
// number on all. All of it has to fit a message of LNet on the way to the leader, 1 MiB; what
// does not is EMSGSIZE for those who brought it. Errors as scoll.Agent.RegisterService.
func NewAllgather(a *scoll.Agent, id scoll.ServiceID, maxBytes int) (*Allgather, error) {
	m, err := register(a, id, scoll.Handler{MaxAnswer: maxBytes, MaxBulk: 1 << 20})
	return &Allgather{m}, err
}

// Join brings data to the point of a name, and returns what all members brought, as
// scoll.Pieces yields it, when the member that leads has it. Errors as Barrier.Wait.
func (g *Allgather) Join(ctx context.Context, name string, data []byte) ([]byte, error) {
	return g.m.wait(ctx, name, data)
}

// Lead is Join for the member that asks the others. Errors as Barrier.Lead; Result.Answer is
// what was brought.
func (g *Allgather) Lead(ctx context.Context, group *scoll.Group, name string, data []byte) (*scoll.Result, error) {
	return g.m.lead(ctx, group, name, data)
}
