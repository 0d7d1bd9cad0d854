package scoll

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// Handler is a service without callbacks: one function answers a question on each member,
// another merges answers. [Agent.Handle] registers it on all members, and [Group.Call] asks
// them. A service must be a Handler on all members or a [Service] on all members, because their
// payloads differ.
//
// A panic of Answer or Merge is not recovered and ends the program. The other members then see
// this member as dead.
type Handler struct {
	// Answer answers a question on one member. Config.Worker calls it, and it may block until
	// ctx ends. ctx ends at the caller's deadline, when the agent is closed or, at the root,
	// when the caller gives up. An answer that comes after that is dropped, and the member
	// fails with ETIMEDOUT. The caller gets the text of an error and its [Status] (EIO if it
	// has none; ETIMEDOUT and ECANCELED for errors of a context). Required.
	Answer func(ctx context.Context, q *Question) ([]byte, error)
	// Merge combines two answers, each of one or of several members. The order of merging is not defined. Merge may
	// modify a, and return it, and must not block. If it returns an error, the members whose answers are in b fail
	// with that error, and a is used unchanged. If Merge is nil, answers stay separate, see [Result.Each].
	Merge func(a, b []byte) ([]byte, error)
	// MaxAnswer bounds the size of an answer in bytes, also of a merged one; members with longer
	// answers fail with EMSGSIZE. It must be the same on all members. Default 1024.
	MaxAnswer int
	// MaxBulk bounds the bulk data of a question in bytes; members refuse longer data with
	// EMSGSIZE. Default 0: no bulk data.
	MaxBulk int
	// MaxMemory bounds the memory of buffers and bulk data of all questions of other nodes,
	// in bytes; further questions are refused with EBUSY. It bounds in the same way the copies
	// of bulk data of this node's calls that members which were given up may still fetch, see [Group.Call]. Default 64 MiB.
	MaxMemory int
	// Inline says that Answer does not block, and may run in the goroutine that delivers
	// messages, which saves the switch to a worker. Its ctx does not end.
	Inline bool
}

// Question is a question to a member. It is valid until Answer returns.
type Question struct {
	Payload []byte  // the payload of CallConfig; the handler may modify it
	Bulk    []byte  // nil: no bulk data. It must not be modified, because other members fetch it
	Root    nid.NID // the node that asks, see [Request.RootNID]
	Self    nid.NID // NID of this node in the group
}

// handling is a registered handler.
type handling struct {
	Handler
	a      *Agent
	memory atomic.Int64 // bytes of memory that questions of other nodes use
	copies atomic.Int64 // bytes of bulk data that this node copied for its calls, and that members may still fetch although these calls are over
	own    ownAnswers
}

// Handle registers a handler as a service. UnregisterService ends it. Errors as
// RegisterService.
func (a *Agent) Handle(id ServiceID, h Handler) error {
	if h.Answer == nil {
		return EINVAL
	}
	h.MaxAnswer, h.MaxMemory = orElse(h.MaxAnswer, 1024), orElse(h.MaxMemory, 64<<20)
	d := &handling{Handler: h, a: a}
	return a.RegisterService(Service{
		ID: id, Inline: true, PreRequest: d.preRequest, IncomingRequest: d.incomingRequest, IncomingReply: d.incomingReply,
		PostReply: d.postReply, ReplyOut: d.replyOut, handler: d,
	})
}

// asked is a question at one node of the tree.
type asked struct {
	d      *handling
	own    *ownAnswer
	asks   bool // whether the call is for this member, so that its handler answers too; otherwise it only forwards
	data   []byte
	memory int64
	call   *calling // the call in progress; nil except at the root

	mu    sync.Mutex
	tally *tally    // status of each member of the subtree; guarded by mu
	parts []portion // payloads in the order of arrival; guarded by mu
	begun bool      // at least one answer was merged; guarded by mu
}

// preRequest checks a question and posts buffers for the answers of the children. At the root
// it is called only before another attempt.
func (d *handling) preRequest(r *Request) error {
	if c, ok := r.private.(*calling); ok {
		return c.prepare(d, r)
	}
	q, err := parseQuestion(r.payload)
	if err != nil {
		return EPROTO
	}
	at := &asked{d: d, data: q.payload, asks: len(r.Entities()) > 0 && q.only.includes(r.whole.Rank(r.NID()))}
	if r.bulkLength > d.MaxBulk {
		return EMSGSIZE
	}
	if at.memory = d.roomFor(r) + int64(r.bulkLength); d.memory.Add(at.memory) > int64(d.MaxMemory) {
		d.memory.Add(-at.memory)
		return EBUSY
	}
	if !d.a.open.add() {
		d.memory.Add(-at.memory)
		return ECANCELED
	}
	at.own = d.own.of(r)
	if err := at.post(r); err != nil {
		d.gone(at)
		return err
	}
	return nil
}

// roomFor returns the bytes of the buffers for the answers to a request.
func (d *handling) roomFor(r *Request) (bytes int64) {
	for i := range r.children {
		bytes += int64(d.answerSize(r, r.children[i].Rank))
	}
	return bytes
}

// answerSize returns the size of the longest possible answer of a member's subtree, in bytes.
func (d *handling) answerSize(r *Request, rank int) int {
	n := r.tree.Size(rank)
	return min(maxTallySize(n)+d.limit(n), r.agent.cfg.MaxPayload-wire.ReplyHeaderSize)
}

// limit returns the longest payload of an answer that covers the given number of members.
func (d *handling) limit(members int) int {
	if d.Merge == nil {
		return members * (PieceSize + d.MaxAnswer)
	}
	return d.MaxAnswer
}

// post attaches the question to a request, and posts buffers for the request's children.
func (at *asked) post(r *Request) error {
	at.tally = newTally(r.tree, r.rank)
	r.Data = at
	if r.bulkLength > 0 && !r.root {
		if err := r.SetBulk(make([]byte, r.bulkLength)); err != nil {
			return err
		}
	}
	for i := range r.children {
		if err := r.PostReply(i, make([]byte, at.d.answerSize(r, r.children[i].Rank))); err != nil {
			return err
		}
	}
	return nil
}

// incomingRequest calls the handler, once in all attempts of a call.
func (d *handling) incomingRequest(r *Request) error {
	at := r.Data.(*asked)
	if r.BulkStatus() != OK || !at.asks {
		return nil // without the bulk data, the module has answered already; a member that is not asked has nothing to do
	}
	q := &Question{Payload: at.data, Root: r.RootNID(), Self: r.NID()}
	if bulk := r.Bulk(); len(bulk) > 0 {
		q.Bulk = bulk[0]
	}
	if d.Inline {
		at.own.set(d.Answer(d.a.ctx, q))
		return nil
	}
	q.Payload = slices.Clone(q.Payload) // the handler may run longer than the request exists; the memory of the bulk data is not used again
	ctx := newHandlerContext(d.a, r.processing, at.own)
	d.a.work(func() {
		answer, err := d.Answer(ctx, q)
		ctx.end()
		at.own.set(answer, err)
	})
	return nil
}

// incomingReply keeps an answer of a child, or of a node below it that the child passes on.
// Missing members are reported to the root by the module.
func (d *handling) incomingReply(p *Reply) {
	if p.Status != OK {
		return
	}
	at := p.Request.Data.(*asked)
	at.mu.Lock()
	defer at.mu.Unlock()
	rank := p.Request.children[p.Child].Rank
	answer, err := d.parse(p.Request, rank, p.Payload)
	if err == nil && at.tally.take(&answer) {
		at.keep(&answer)
		return
	}
	d.a.log.Debug("scoll: answer of a handler not understood", slog.Any("nid", p.Request.members.NID(rank)), slog.Any("err", err))
}

// postReply answers the parent or, at the root, the caller as soon as this node's own answer is
// there.
func (d *handling) postReply(r *Request) {
	at := r.Data.(*asked)
	if r.root {
		at.call.gathered(r, at)
		return
	}
	at.whenAnswered(func() { at.reply(r) })
}

// whenAnswered calls f when this node's own answer is there, or at once if this node is not asked.
func (at *asked) whenAnswered(f func()) {
	if !at.asks {
		f()
		return
	}
	at.own.then(f)
}

// reply sends the merged answers to the parent. An error of Reply means that it was called too
// late, and that the module has answered.
func (at *asked) reply(r *Request) {
	at.mu.Lock()
	defer at.mu.Unlock()
	payload := at.merge(r)
	b := append(at.tally.append(nil), payload...)
	if len(b) > min(r.maxReply(), at.d.answerSize(r, r.rank)) {
		at.tally.fail(at.tally.nodes, EMSGSIZE, "")
		b = at.tally.append(nil)
	}
	_ = r.Reply(b)
}

// replyOut releases the memory of a question.
func (d *handling) replyOut(r *Request) {
	switch at, ok := r.Data.(*asked); {
	case !ok:
	case r.root:
		d.copies.Add(-int64(r.bulkLength))
	default:
		d.gone(at)
	}
}

func (d *handling) gone(at *asked) {
	d.memory.Add(-at.memory)
	d.a.open.done()
}

// handlerContext is the context in which a handler computes one answer. It is canceled when the answer is
// there or given up, when the agent ends, and when the time that is left for the request has passed, on the
// agent's clock or on the real clock. Deadline returns a time of the real clock, as for all contexts.
type handlerContext struct {
	context.Context
	cancel context.CancelCauseFunc
	stop   context.CancelFunc // stops the timer of the real clock
	timer  machine.Timer
}

func newHandlerContext(a *Agent, left time.Duration, own *ownAnswer) *handlerContext {
	c := &handlerContext{}
	left = max(left, time.Nanosecond)
	parent, cancel := context.WithCancelCause(a.ctx)
	c.cancel = cancel
	c.Context, c.stop = context.WithTimeout(parent, left)
	c.timer = a.cfg.Clock.AfterFunc(left, func() {
		cancel(context.DeadlineExceeded)
		own.set(nil, ETIMEDOUT)
	})
	own.onEnd(c.end)
	return c
}

// end ends the context before its deadline.
func (c *handlerContext) end() {
	c.timer.Stop()
	c.cancel(context.Canceled)
	c.stop()
}

// Err implements context.Context.
func (c *handlerContext) Err() error {
	err := c.Context.Err()
	if err != nil && errors.Is(context.Cause(c.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}
