package scoll

import (
	"hash/crc32"
	"log/slog"
	"slices"

	"ulnet/scoll/engine"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// call calls a callback, and tells the machine that it has returned.
func (a *Agent) call(c *call) {
	in := engine.Input{ID: c.id}
	switch c.kind {
	case engine.CallMap:
		in = mapGroup(c)
	case engine.CallPreRequest:
		in = c.r.preRequest(c.id)
	case engine.CallIncoming:
		in.Kind, in.Status = engine.InIncoming, c.r.incomingRequest()
	case engine.CallReply:
		in.Kind, in.Child = engine.InReply, c.reply.Child
		c.r.service.IncomingReply(&c.reply)
	case engine.CallPostReply:
		in.Kind = engine.InPostReply
		c.r.postReply()
	case engine.CallReplyOut:
		in.Kind = engine.InReplyOut
		c.r.service.ReplyOut(c.r)
		c.r.end()
	case engine.Created:
		c.made.done(c.made, c.err)
		return
	}
	a.runner.Do(in) // the caller also makes the calls that this step adds
}

// mapGroup asks a service for the members of an out-of-band group.
func mapGroup(c *call) engine.Input {
	in := engine.Input{Kind: engine.InMapped, ID: c.id}
	if c.maps == nil || c.maps.MapGroup == nil {
		in.Status = ENOTSUP
		return in
	}
	var err error
	if in.Members, err = c.maps.MapGroup(c.oob); err != nil || in.Members == nil {
		if in.Status = wire.StatusOf(err); in.Status == OK {
			in.Status = ENOGROUP
		}
	}
	return in
}

// preRequest calls the service's PreRequest.
func (r *Request) preRequest(id engine.RequestID) engine.Input {
	in := engine.Input{Kind: engine.InPreRequest, ID: id}
	if r.service == nil {
		in.Status = ENOSERVICE
		return in
	}
	if err := r.service.PreRequest(r); err != nil {
		in.Status = wire.StatusOf(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case in.Status != OK && !r.root:
		r.stage = endedStage
	case r.buffers.unposted(len(r.children)) >= 0, r.bulkLength > 0 && len(r.bulk) == 0:
		in.Status, r.stage = EINVAL, endedStage // a buffer or the bulk data is missing (SC-41, SC-32)
		if r.root {
			r.stage = sentStage // the machine calls PostReply next
		}
	default:
		r.stage = sentStage
	}
	in.Timeout = r.timeout
	if r.aborted && r.root && in.Status == OK { // at a member the machine ends the request, with ReplyOut
		in.Status = ECANCELED
	}
	return in
}

// handle creates the handle of a request that arrived.
func (a *Agent) handle(e *engine.Effect, out *engine.Output) *Request {
	h := e.Header
	r := a.request(e.ID)
	r.service, r.members, r.whole, r.flags, r.processing = a.service(h.Service), e.Members, e.Whole, h.Flags, h.Processing
	r.rank, r.repeated = e.Members.Rank(a.self), e.Again
	r.copied = a.payloads.Get().(*[]byte)
	*r.copied = append((*r.copied)[:0], out.Buf[e.Data.Begin:e.Data.End]...)
	r.payload = *r.copied
	r.children = append(r.few[:0], out.Children[e.Children.Begin:e.Children.End]...)
	r.bulkLength = int(h.Bulk.Length)
	topology, _ := h.Tree.Topology()
	r.tree = tree.Tree{Topology: topology, N: e.Members.Len(), Root: int(h.Root)}
	r.groupID, r.shape, r.segment = h.Group, h.Tree, h.Segment
	r.attempt = attempt{r.RootNID(), h.RootIncarnation, h.Group, h.First}
	return r
}

// again prepares a request of this node for another attempt, with other children.
func (r *Request) again(e *engine.Effect, out *engine.Output) {
	r.mu.Lock()
	r.stage, r.Data = preparingStage, nil
	r.mu.Unlock()
	r.unlinkAll() // the child may have used fewer buffers than were posted: withdraw the rest
	r.buffers.reset()
	r.members, r.whole, r.rank = e.Members, e.Whole, e.Members.Rank(r.agent.self)
	r.children = append(r.children[:0:0], out.Children[e.Children.Begin:e.Children.End]...)
	r.tree.N, r.tree.Root = e.Members.Len(), r.rank
}

// callFor queues the call of a callback for an effect.
func (a *Agent) callFor(e *engine.Effect, out *engine.Output) {
	c := call{kind: e.Kind, id: e.ID}
	switch e.Kind {
	case engine.CallMap:
		c.maps, c.oob = a.service(e.Service), OOBID{e.Group.Incarnation, e.Group.Index}
	case engine.CallPreRequest:
		if c.r = a.requests[e.ID]; c.r == nil || !c.r.root {
			c.r = a.handle(e, out)
		} else {
			c.r.again(e, out)
		}
	case engine.CallReply:
		c.r = a.request(e.ID)
		if c.r.service.IncomingReply == nil { // the service has no IncomingReply (SC-48)
			a.runner.Do(engine.Input{Kind: engine.InReply, ID: e.ID, Child: e.Child})
			return
		}
		c.reply = c.r.childReply(e, out)
	case engine.CallPostReply:
		c.r = a.request(e.ID)
		c.r.gathered(e, out)
	case engine.CallReplyOut:
		c.r = a.request(e.ID)
		c.r.mu.Lock()
		c.r.status = e.Status
		c.r.mu.Unlock()
		if c.r.service.ReplyOut == nil {
			c.r.end()
			a.runner.Do(engine.Input{Kind: engine.InReplyOut, ID: e.ID})
			return
		}
	}
	a.due.add(c)
}

// childReply returns the argument of the service's IncomingReply.
func (r *Request) childReply(e *engine.Effect, out *engine.Output) Reply {
	p := Reply{
		Request: r, Child: e.Child, From: r.members.NID(e.Rank), Status: e.Status, Collective: e.Collective,
		Part: int(e.Part), Last: e.Final, Nodes: e.Nodes, Entities: e.Entities,
	}
	switch {
	case e.Passed:
		p.Payload = slices.Clone(out.Buf[e.Data.Begin:e.Data.End])
	case e.Status == OK:
		p.Payload = r.buffers.payload(e.Child, e.Part, e.Length)
	}
	return p
}

// gathered stores the results that the service may read in PostReply.
func (r *Request) gathered(e *engine.Effect, out *engine.Output) {
	r.unlinkAll() // children may have used fewer buffers than were posted: withdraw the rest
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy, r.status = e.Busy, e.Status
	if r.root && r.status == OK {
		r.agent.latency.Record(r.agent.cfg.Clock.Now() - r.sentAt)
	}
	r.missing = append(r.missing, out.Missing[e.Missing.Begin:e.Missing.End]...)
}

// postReply calls the service's PostReply. From then on the service may reply (SC-A2), unless
// the module has replied.
func (r *Request) postReply() {
	r.checkBulk()
	r.mu.Lock()
	if r.stage == sentStage {
		r.stage = replyStage
	}
	over := r.root && !r.busy
	r.mu.Unlock()
	r.service.PostReply(r)
	if over {
		r.end()
	}
}

// incoming calls the service's IncomingRequest: in a worker, unless it is Inline.
func (r *Request) incoming(s Status) {
	r.mu.Lock()
	r.bulkStatus = s
	r.mu.Unlock()
	a := r.agent
	if a.cfg.CheckBulk && s == OK {
		r.sum = sumOf(r.Bulk())
	}
	id := r.id
	if r.service.Inline {
		a.due.add(call{kind: engine.CallIncoming, id: id, r: r})
		return
	}
	a.work(func() {
		a.do(engine.Input{Kind: engine.InIncoming, ID: id, Status: r.incomingRequest()})
	})
}

// incomingRequest calls the service's IncomingRequest.
func (r *Request) incomingRequest() Status {
	s := wire.StatusOf(r.service.IncomingRequest(r))
	if s != OK {
		r.mu.Lock()
		r.failed = true
		r.mu.Unlock()
	}
	return s
}

// checkBulk checks whether the service has modified bulk data (SC-33).
func (r *Request) checkBulk() {
	if r.sum != 0 && r.sum != sumOf(r.Bulk()) {
		r.agent.bulkModified.Add(1)
		r.agent.log.Error("scoll: a service modified bulk data", slog.Uint64("service", uint64(r.service.ID)))
	}
}

// sumOf returns a checksum of bulk data other than 0; 0 if there are no data.
func sumOf(segments [][]byte) (sum uint64) {
	for _, s := range segments {
		sum = sum<<1 | 1 + uint64(crc32.Update(uint32(sum), crc32.IEEETable, s))
	}
	return sum
}

// end makes a handle invalid.
func (r *Request) end() {
	r.mu.Lock()
	r.stage = endedStage
	r.mu.Unlock()
}
