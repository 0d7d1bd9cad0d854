package scoll

import (
	"time"

	"ulnet/portals"
	"ulnet/scoll/engine"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// RequestConfig configures a broadcast.
type RequestConfig struct {
	Payload []byte // payload for the services, see Group.MaxPayload
	// Bulk is data that is too long for a message, in at most 256 segments.
	Bulk [][]byte
	// Last destroys the group when the broadcast is over.
	Last bool
	// Live sends to the live members only. Otherwise a dead member fails the broadcast. Live cannot be
	// combined with Last, except over out-of-band groups: call Group.Destroy after the broadcast.
	Live bool
	// Processing is how long services take at most. It is part of the timeouts that apply
	// where discovery does not notice that a node is gone. At most 71 minutes.
	Processing time.Duration
	// Carry bounds, in bytes, the answers of other members that a module passes on in one message when its
	// own service does not reply. Answers that do not fit are lost, and their members unreached with ELOST.
	// Each member needs as much memory for each request under way. Default 4096, MaxCarry at most; negative:
	// none.
	Carry   int
	Private any // any value for the program, see Request.Private
}

// NewRequest returns a request with this node as the root. Payload and bulk data belong to
// the module until PostReply. Post a buffer for each child, then call Send.
//
//	EHOSTDOWN   members are dead: an *Error with Dead
//	EMSGSIZE    more than MaxPayload bytes, or bulk data of more than 4 GiB or
//	            256 segments
//	ENOGROUP, ENOSERVICE, EBUSY  as with Send
//	EAGAIN      the group is being created
//	EINVAL      Last and Live over a group that is not out-of-band
func (g *Group) NewRequest(cfg RequestConfig) (*Request, error) {
	a := g.agent
	o, err := g.plan(cfg)
	if err != nil {
		return nil, err
	}
	r := a.handles.Get().(*Request)
	r.agent, r.service, r.group, r.root, r.payload, r.private = a, a.service(g.service), g, true, cfg.Payload, cfg.Private
	r.flags, r.processing, r.carry, r.bulk = o.Flags, cfg.Processing, cfg.Carry, cfg.Bulk
	for _, s := range cfg.Bulk {
		r.bulkLength += len(s)
	}
	if len(cfg.Bulk) > portals.MaxSegments || uint64(r.bulkLength) > wire.MaxBulk {
		return nil, EMSGSIZE
	}
	o.Bulk = uint64(r.bulkLength)
	p, err := a.planned(&o, r.few[:0])
	if len(p.Dead) > 0 {
		a.ask(p.Dead)
		p, err = a.planned(&o, r.few[:0])
	}
	switch {
	case r.service == nil:
		return nil, ENOSERVICE
	case len(p.Dead) > 0:
		e := wrong(EHOSTDOWN, "dead members: %v", p.Dead)
		e.Dead = p.Dead
		return nil, e
	case err != nil:
		return nil, err
	case len(cfg.Payload) > p.MaxPayload:
		return nil, EMSGSIZE
	}
	topology, _ := p.Tree.Topology()
	r.members, r.whole, r.children, r.rank, r.mapped = p.Members, p.Whole, p.Children, p.Members.Rank(a.self), o.Members
	r.tree, r.treeTime = tree.Tree{Topology: topology, N: p.Members.Len(), Root: r.rank}, p.Time
	return r, nil
}

func (a *Agent) planned(o *engine.Outgoing, room []tree.Child) (p engine.Plan, err error) {
	a.runner.Inspect(func() { p, err = a.m.Plan(o, room) })
	return p, err
}

// plan returns the description of a broadcast. NewRequest and MaxPayload pass it to the machine, which
// returns the Plan of the broadcast.
func (g *Group) plan(cfg RequestConfig) (engine.Outgoing, error) {
	flags := wire.Flags(0)
	if cfg.Last {
		flags |= wire.FlagLast
	}
	if cfg.Live {
		flags |= wire.FlagSubset
	}
	o := g.outgoing(flags)
	if !g.oob {
		return o, nil
	}
	s := g.agent.service(g.service)
	if s == nil || s.MapGroup == nil {
		return o, ENOSERVICE
	}
	members, err := s.MapGroup(OOBID{g.id.Incarnation, g.id.Index})
	if err == nil && members == nil {
		err = ENOGROUP
	}
	o.Members = members
	return o, err
}

// MaxPayload returns the longest payload of a request over the group. The first request over
// a group that was created without Now has room for less.
func (g *Group) MaxPayload() (bytes int, err error) {
	o, err := g.plan(RequestConfig{})
	if err != nil {
		return 0, err
	}
	p, err := g.agent.planned(&o, nil)
	if len(p.Dead) > 0 {
		err = nil
	}
	return p.MaxPayload, err
}

// Send sends a request, once. If it returns nil, the request was accepted, and IncomingRequest
// and PostReply will be called. If many requests over the group are under way, the request
// waits until others are over, in the order of the calls of Send; its timeouts begin when it is
// sent. While it waits, Abort ends it unsent, see Request.Status. After an error nothing was
// sent, and no callback will be called.
//
//	EALREADY      it was sent before
//	ECANCELED     it was aborted, or the agent has stopped
//	EBUSY         Last is set while other broadcasts over the group are under way, or 4096
//	              requests over the group wait
//	EAGAIN        the group is being created
//	ENOGROUP      the group is gone
//	EINVAL        this is not the root, a child has no reply buffer, or the timeouts
//	              would be longer than Config.MaxTimeout, or Processing than 71 minutes
//	EHOSTDOWN     a member has died
//	ESTALE        with Live: other members are alive now
func (r *Request) Send() error {
	if !r.root {
		return EINVAL
	}
	if child := r.buffers.unposted(len(r.children)); child >= 0 {
		return wrong(EINVAL, "no reply buffer posted for child %d", child)
	}
	o := r.group.outgoing(r.flags)
	o.Token, o.Payload, o.Bulk, o.Processing = r, r.payload, uint64(r.bulkLength), r.processing
	o.Segment, o.Carry = r.group.segment, r.carry
	if r.agent.signer.On() && r.bulkLength > 0 {
		o.BulkSum = sumOfBulk(r.Bulk())
	}
	if r.flags&wire.FlagSubset != 0 {
		o.Planned = r.members.Digest()
	}
	o.Members = r.mapped // the cache may have displaced the group since Plan
	if err := r.enter(preparingStage, sentStage); err != nil {
		return err
	}
	r.sentAt = r.agent.cfg.Clock.Now()
	o.Status = ECANCELED // the machine sets another status, unless the agent has stopped
	r.agent.tell(engine.Input{Kind: engine.Broadcast, Broadcast: &o})
	if o.Status == OK {
		return nil
	}
	_ = r.enter(sentStage, preparingStage) // cannot fail: no other goroutine changes the stage from sentStage
	return o.Status
}

// enter moves a request of this node from the stage from to the stage to.
func (r *Request) enter(from, to stage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.stage != from:
		return EALREADY
	case r.aborted && to == sentStage:
		return ECANCELED
	}
	r.stage = to
	return nil
}

// ours applies an effect with the result of a broadcast that this node sends, or of a group that it creates
// or destroys.
func (a *Agent) ours(e *engine.Effect, out *engine.Output) {
	switch of := e.Token.(type) {
	case *Request:
		if e.Kind == engine.Refused { // Send itself returns the error
			return
		}
		of.mu.Lock()
		of.id = e.ID
		aborted := of.aborted
		of.mu.Unlock()
		a.requests[e.ID] = of
		if aborted {
			a.runner.Do(engine.Input{Kind: engine.Abort, ID: e.ID})
		}
	case *Group:
		if e.Kind == engine.Began {
			return
		}
		if of.done != nil {
			if e.Status == OK {
				of.id = e.Group
			}
			a.due.add(call{kind: engine.Created, made: of, err: of.whyNot(e, out)})
		}
	}
}
