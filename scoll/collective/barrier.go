package collective

import (
	"context"

	"ulnet/scoll"
)

// Barrier makes all members of a group wait for each other.
type Barrier struct{ m *meeting }

// NewBarrier registers a barrier. Errors as scoll.Agent.RegisterService.
func NewBarrier(a *scoll.Agent, id scoll.ServiceID) (*Barrier, error) {
	m, err := register(a, id, scoll.Handler{Merge: func(a, _ []byte) ([]byte, error) { return a, nil }})
	return &Barrier{m}, err
}

// Wait enters the barrier with a name, and returns when the leader reports that all members
// have entered. The error is ErrIncomplete, ErrTwice, ErrName, or that of ctx. After an error
// of ctx other members may have passed the barrier.
func (b *Barrier) Wait(ctx context.Context, name string) error {
	_, err := b.m.wait(ctx, name, nil)
	return err
}

// Lead enters the barrier of a name as its leader; g is a group of the barrier's service. It
// returns when all members have entered and have been told that all are there. If it returns
// another error than ErrUntold and a result, the result has the members that did not enter in time, and the other
// members were told to give up. With ErrUntold all members have entered, and those that were told have
// passed the barrier; the others wait until their own contexts end. Members must enter before the deadline of ctx,
// or within 5 seconds if there is none. Telling them takes as long as another call. A member that waits there for another
// leader is in the result with EPERM: let one node lead at a time, and give rounds that different nodes lead names of their own.
// If that leader dies, the member accepts another one as soon as its scoll.Config.View reports the death, or else 5 seconds
// after the deadline of its question, which is at most MaxTimeout away. EINVAL: the group is one of another service.
func (b *Barrier) Lead(ctx context.Context, g *scoll.Group, name string) (*scoll.Result, error) {
	return b.m.lead(ctx, g, name, nil)
}

// Allgather gives all members of a group the data of each of them.
type Allgather struct{ m *meeting }

// NewAllgather registers an allgather whose members have up to maxBytes of data each, the same
// limit on all. The data of all members together must fit an LNet message to the leader, 1 MiB;
// members whose data does not fit fail with EMSGSIZE. Errors as scoll.Agent.RegisterService.
func NewAllgather(a *scoll.Agent, id scoll.ServiceID, maxBytes int) (*Allgather, error) {
	m, err := register(a, id, scoll.Handler{MaxAnswer: maxBytes, MaxBulk: 1 << 20})
	return &Allgather{m}, err
}

// Join contributes data to the operation with a name, and returns the data of all members once
// the leader has it; [scoll.Pieces] takes it apart. Errors as Barrier.Wait.
func (g *Allgather) Join(ctx context.Context, name string, data []byte) ([]byte, error) {
	return g.m.wait(ctx, name, data)
}

// Lead is Join for the leader. Errors as Barrier.Lead; Result.Answer is the data of all
// members.
func (g *Allgather) Lead(ctx context.Context, group *scoll.Group, name string, data []byte) (*scoll.Result, error) {
	return g.m.lead(ctx, group, name, data)
}
