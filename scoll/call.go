package scoll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// callTime is how long members may take to answer a call whose context has no deadline.
const callTime = 5 * time.Second

// moreCalls is how often a call is repeated because members died or came back while it was
// running.
const moreCalls = 3

// CallConfig configures a [Group.Call].
type CallConfig struct {
	// Payload is for the handlers. Its limit is Group.MaxPayload less 2 bytes, and less up to
	// 10 for each range of ranks in Only.
	Payload []byte
	// Bulk is data for the handlers that is too long for a message, see Handler.MaxBulk. Call copies it.
	Bulk []byte
	// Only selects the members that are asked; nil: all. The tree still spans all live
	// members, which forward question and answers: a filter saves calls of handlers, not
	// messages. To ask the same few members often, make a group of them.
	Only []nid.NID
	// All makes the call fail if a member is dead: the error is an *Error with Dead. Otherwise
	// only the live members are asked, and the dead ones are Unreached with EHOSTDOWN.
	All bool
}

// Call asks the members of a group, and waits until each has answered, has failed, or was given
// up. On all members the group's service must be a [Handler]. Handlers get a context with the
// deadline of ctx, less the time that messages take in the tree (5 seconds if ctx has no
// deadline; at most Config.MaxTimeout, and 71 minutes). When ctx ends Call returns at once, with
// the answers so far and the error of ctx; handlers run on until their deadline. Call blocks, so
// callbacks and Inline handlers must not call it; other handlers may.
//
// An error without a Result means that no member has run the question. The errors are those of
// ctx, of [Group.NewRequest], of [Request.Send], and these:
//
//	ENOTSUP     the service is not a Handler
//	EINVAL      a NID in Only is not a member's, or the messages may need Config.MaxTimeout in the tree, so that members have no time to answer
//	EBUSY       also: members that were given up are still being sent the Bulk of earlier calls, more than
//	            Handler.MaxMemory in all
//	ErrStopped  the agent was closed meanwhile; in the Result all members are Unreached (ECANCELED)
func (g *Group) Call(ctx context.Context, cfg CallConfig) (*Result, error) {
	live := false
	for try := 0; ; try++ {
		result, err := g.call(ctx, cfg, live)
		down := !cfg.All && errors.Is(err, EHOSTDOWN)
		if result != nil || try == moreCalls || !down && !(live && errors.Is(err, ESTALE)) {
			return result, err
		}
		live = true
	}
}

// call makes one attempt of a call.
func (g *Group) call(ctx context.Context, cfg CallConfig, live bool) (*Result, error) {
	c, err := g.begin(ctx, cfg, live)
	if err != nil {
		return nil, err
	}
	return c.wait(ctx)
}

// wait returns the result of a call: all of it, or the answers so far when ctx ends.
func (c *calling) wait(ctx context.Context) (*Result, error) {
	stopped := c.d.a.ctx.Done()
	select {
	case <-c.done:
		return c.result, c.err
	case <-stopped:
		return c.stopped(), ErrStopped
	case <-ctx.Done():
	}
	c.r.Abort()
	c.own.giveUp()
	select {
	case <-c.done:
		if c.err == nil || c.err == ECANCELED { // ECANCELED: the call was waiting to be sent
			return c.result, ctx.Err()
		}
		return nil, c.err
	case <-stopped:
		return c.stopped(), ErrStopped
	}
}

// stopped returns the result of a call whose agent was closed meanwhile: any member may have run the
// question.
func (c *calling) stopped() *Result {
	whole := c.where.whole
	missing := make([]Unreached, whole.Len())
	for rank := range missing {
		missing[rank] = Unreached{whole.NID(rank), ECANCELED}
	}
	return newResult(nil, &c.where, c.only, missing)
}

// calling is a call in progress, at its root.
type calling struct {
	d      *handling
	r      *Request
	where  positions // positions of members in the group, and in the tree of the first attempt
	own    *ownAnswer
	only   rankSet
	data   []byte
	done   chan struct{} // closed when result or err has been set
	result *Result
	err    error
}

// begin sends a call.
func (g *Group) begin(ctx context.Context, cfg CallConfig, live bool) (*calling, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := g.agent.service(g.service)
	if s == nil {
		return nil, ENOSERVICE
	}
	if s.handler == nil {
		return nil, ENOTSUP
	}
	c := &calling{d: s.handler, own: new(ownAnswer), done: make(chan struct{})}
	c.data = slices.Clone(cfg.Payload) // this node's handler may modify it, and may run longer than the call
	var err error
	if c.only, err = g.ranksOf(cfg.Only); err != nil {
		return nil, err
	}
	q := callQuestion{only: c.only, payload: cfg.Payload}
	rc := RequestConfig{Payload: q.append(nil), Live: live, Private: c}
	if rc.Bulk, err = c.d.copyBulk(cfg.Bulk); err != nil {
		return nil, err
	}
	if c.r, err = g.NewRequest(rc); err != nil {
		return nil, err
	}
	c.where = positions{c.r.whole, c.r.members, c.r.tree}
	if c.r.processing, err = c.timeFor(ctx); err != nil {
		return nil, err
	}
	if err = c.prepare(c.d, c.r); err == nil {
		err = c.r.Send()
	}
	return c, err
}

// copyBulk returns a copy of bulk data for members to fetch. Members that were given up may still be sent it when Call has
// returned, and a member can delay that without end, so the caller's own memory is not used. The check bounds the copies
// that such members keep.
func (d *handling) copyBulk(bulk []byte) ([][]byte, error) {
	switch {
	case len(bulk) == 0:
		return nil, nil
	case d.copies.Load() > int64(d.MaxMemory):
		return nil, EBUSY
	}
	return [][]byte{slices.Clone(bulk)}, nil
}

// ranksOf returns the set of ranks of members in the whole group.
func (g *Group) ranksOf(nodes []nid.NID) (rankSet, error) {
	if nodes == nil {
		return nil, nil
	}
	o, err := g.plan(RequestConfig{Live: true})
	if err != nil {
		return nil, err
	}
	p, err := g.agent.planned(&o, nil)
	if err != nil {
		return nil, err
	}
	ranks := make([]int, len(nodes))
	for i, id := range nodes {
		if ranks[i] = p.Whole.Rank(id); ranks[i] < 0 {
			return nil, wrong(EINVAL, "%v is not a member of the group: %v", id, EINVAL)
		}
	}
	return newRankSet(ranks), nil
}

// timeFor returns how long handlers may take: the time left to ctx, less the time that messages
// take in the tree.
func (c *calling) timeFor(ctx context.Context) (time.Duration, error) {
	longest := min(c.d.a.cfg.MaxTimeout-c.r.treeTime, wire.MaxTime)
	if longest <= 0 {
		return 0, wrong(EINVAL, "the tree alone takes up to %v, more than MaxTimeout: %v", c.r.treeTime, EINVAL)
	}
	left, ok := machine.Left(ctx)
	if !ok {
		return min(callTime, longest), nil
	}
	if left -= c.r.treeTime; left <= 0 {
		return 0, fmt.Errorf("scoll: the tree alone takes up to %v: give the call more time: %w", c.r.treeTime, context.DeadlineExceeded)
	}
	return min(left, longest), nil
}

// prepare attaches a call to the request of one of its attempts, and posts buffers for the answers.
func (c *calling) prepare(d *handling, r *Request) error {
	at := &asked{d: d, own: c.own, call: c, data: c.data}
	at.asks = len(r.Entities()) > 0 && c.only.includes(r.whole.Rank(r.NID()))
	return at.post(r)
}

// gathered takes the list of missing members in PostReply, and sets the result once this node's
// own answer is there.
func (c *calling) gathered(r *Request, at *asked) {
	if r.Busy() {
		c.d.copies.Add(int64(r.bulkLength)) // until ReplyOut
	}
	if s := r.Status(); s != OK { // the request of the call was never sent
		c.err = s
		close(c.done)
		return
	}
	where, missing := &positions{r.whole, r.members, r.tree}, r.Unreached()
	for _, id := range r.LeftOut() {
		missing = append(missing, Unreached{id, EHOSTDOWN})
	}
	at.whenAnswered(func() {
		at.mu.Lock()
		defer at.mu.Unlock()
		payload := at.merge(r)
		c.result = newResult(at.tally, where, c.only, missing)
		if c.result.Answered > 0 {
			c.result.Answer = payload
		}
		close(c.done)
	})
}
