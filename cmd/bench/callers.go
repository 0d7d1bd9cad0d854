package main

import (
	"cmp"
	"context"
	"time"

	"ulnet/cmd/bench/rival"
	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// manyCallers is the largest number of callers.
const manyCallers = 64

// callers are goroutines that each send a PUT to a responder and wait for the PUT that answers it,
// one after another.
type callers struct {
	*node
	list []caller
}

// caller has what one goroutine needs to send and to wait.
type caller struct {
	target nid.ProcessID
	md     portals.MDHandle
	bits   uint64        // index of the caller; with bitsEQ or bitsChannel added, the match bits of a PUT and its answer
	eq     *portals.EQ   // gets the answers whose match bits contain bitsEQ
	passed chan struct{} // the handler sends a value when an answer arrives whose match bits contain bitsChannel
}

// newCallers prepares callers, which are distributed evenly over the targets.
func newCallers(n *node, targets []nid.ProcessID) *callers {
	c := &callers{node: n, list: make([]caller, manyCallers)}
	for i := range c.list {
		c.list[i].open(n, uint64(i), targets[i%len(targets)])
	}
	return c
}

func (c *caller) open(n *node, index uint64, target nid.ProcessID) {
	c.target, c.bits, c.passed = target, index, make(chan struct{}, 1)
	c.md, c.eq = n.bind(smallSize, nil, nil), must(n.table.NewEQ(2))
	pass := func(*portals.Event) { c.passed <- struct{}{} }
	for how, md := range map[uint64]portals.MD{bitsEQ: {EQ: c.eq}, bitsChannel: {Handler: pass}} {
		md.Segments, md.Options = []lnd.Segment{make([]byte, smallSize)}, portals.OpPut
		n.post(portalAnswer, portals.Match{Bits: how + index}, md)
	}
}

// run makes as many callers as the argument active says send count PUTs in total, and returns how long that
// took. The argument how says where each caller waits for its answers: bitsEQ stands for its EQ, bitsChannel for
// its channel.
func (c *callers) run(ctx context.Context, how uint64, active, count int) (time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return rival.Calls{Callers: active, Count: count}.Run(func(i int) error {
		err := c.call(ctx, &c.list[i], how)
		if err != nil {
			cancel() // so that the other callers stop waiting
		}
		return err
	})
}

// call sends a PUT and waits for the one that answers it.
func (c *callers) call(ctx context.Context, by *caller, how uint64) error {
	err := c.table.Put(portals.PutRequest{
		Self: c.id.NID, MD: by.md, Target: by.target, Portal: portalCall, MatchBits: how + by.bits,
	})
	if err != nil {
		return err
	}
	if how == bitsEQ {
		e, err := by.eq.Wait(ctx)
		return cmp.Or(err, e.Err)
	}
	select {
	case <-by.passed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
