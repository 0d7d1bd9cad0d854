package collective

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// ErrFenced says that the epoch of the work has ended.
var ErrFenced = errors.New("collective: the epoch of this work is over")

// Fence makes members stop working for an epoch that has ended, such as the epoch of a former
// master (fencing). The epoch of a fence begins at 0 and only rises.
type Fence struct {
	cfg FenceConfig

	mu     sync.Mutex
	epoch  uint64         // the present epoch; guarded by mu, like all below
	atWork map[uint64]int // number of Enter calls whose work has not ended, by epoch
	left   chan struct{}  // closed when some work of an epoch has ended
}

// FenceConfig configures a Fence.
type FenceConfig struct {
	Service scoll.ServiceID // id of the service; the same on all members
	// MayRaise reports whether a root may raise this node's epoch, which ends all earlier
	// ones for good. nil: any node that reaches the service may, by at most 2^32 at a time.
	MayRaise func(root nid.NID, epoch uint64) bool
}

// NewFence registers a fence. Errors as scoll.Agent.RegisterService.
func NewFence(a *scoll.Agent, cfg FenceConfig) (*Fence, error) {
	f := &Fence{cfg: cfg, atWork: make(map[uint64]int), left: make(chan struct{})}
	return f, a.Handle(cfg.Service, scoll.Handler{Answer: f.answer, Merge: func(a, _ []byte) ([]byte, error) { return a, nil }})
}

// Epoch returns the earliest epoch for which work is still allowed, as far as this node knows.
func (f *Fence) Epoch() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.epoch
}

// Enter begins work for an epoch on this node. Call leave once, when the work has ended.
// ErrFenced: the epoch is over.
func (f *Fence) Enter(epoch uint64) (leave func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if epoch < f.epoch {
		return nil, ErrFenced
	}
	f.atWork[epoch]++
	return sync.OnceFunc(func() { f.leave(epoch) }), nil
}

func (f *Fence) leave(epoch uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.atWork[epoch]--; f.atWork[epoch] == 0 {
		delete(f.atWork, epoch)
	}
	close(f.left)
	f.left = make(chan struct{})
}

// Raise ends all earlier epochs on all members of a group of the fence's service. When it
// returns nil, no member works for an earlier epoch any more. If that is not known for some
// members, the error is an *scoll.Error whose Result has them; other errors are those of
// scoll.Group.Call. EINVAL: the group is one of another service.
func (f *Fence) Raise(ctx context.Context, g *scoll.Group, epoch uint64) error {
	if err := isOf(g, f.cfg.Service); err != nil {
		return err
	}
	r, err := g.Call(ctx, scoll.CallConfig{Payload: binary.LittleEndian.AppendUint64(nil, epoch)})
	if err != nil {
		return err
	}
	return r.Err()
}

// answer raises the epoch at once, and answers when work for earlier epochs has ended.
func (f *Fence) answer(ctx context.Context, q *scoll.Question) ([]byte, error) {
	if len(q.Payload) != 8 {
		return nil, scoll.EPROTO
	}
	epoch := binary.LittleEndian.Uint64(q.Payload)
	if f.cfg.MayRaise != nil && !f.cfg.MayRaise(q.Root, epoch) {
		return nil, scoll.EPERM
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cfg.MayRaise == nil && epoch > f.epoch && epoch-f.epoch > 1<<32 {
		return nil, fmt.Errorf("%w: epoch %d is far above %d", scoll.EINVAL, epoch, f.epoch)
	}
	f.epoch = max(f.epoch, epoch)
	for f.worksBelow(epoch) {
		left := f.left
		f.mu.Unlock()
		select {
		case <-left:
		case <-ctx.Done():
		}
		f.mu.Lock()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, nil
}

// worksBelow reports whether there is work for an earlier epoch. The caller holds f.mu.
func (f *Fence) worksBelow(epoch uint64) bool {
	for e := range f.atWork { // any order: one epoch is enough
		if e < epoch {
			return true
		}
	}
	return false
}
