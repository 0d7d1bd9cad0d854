package selftest

import (
	"log/slog"

	"ulnet/lnd"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals"
)

// memory is what is posted for a transfer or RPC: for an RPC of this node the match entries of
// reply and bulk data, for a transfer the memory of its data.
type memory struct {
	reply, bulk portals.MDHandle // 0: none
	answer      *answer          // memory of an RPC's reply; nil for a transfer
}

// keep stores what was posted for the transfer or RPC id, so that release finds it. If the agent is
// closed, keep unlinks it instead.
func (a *Agent) keep(id uint64, m memory) {
	a.mu.Lock()
	closed := a.closed
	if !closed {
		a.posted[id] = m
	}
	a.mu.Unlock()
	if closed {
		a.unlink(m)
	}
}

// release unlinks the memory of a transfer or RPC.
func (a *Agent) release(id uint64) {
	a.mu.Lock()
	m := a.posted[id]
	delete(a.posted, id)
	a.mu.Unlock()
	a.unlink(m)
}

// unpost unlinks the memory of an RPC's bulk data.
func (a *Agent) unpost(id uint64) {
	a.mu.Lock()
	m, ok := a.posted[id]
	bulk := m.bulk
	if m.bulk = 0; ok {
		a.posted[id] = m
	}
	a.mu.Unlock()
	a.unlink(memory{bulk: bulk})
}

// unlink unlinks memory. It ignores ENOENT: an MD may have unlinked itself already.
func (a *Agent) unlink(m memory) {
	for _, md := range [...]portals.MDHandle{m.reply, m.bulk} {
		if md != 0 {
			_ = a.table.MDUnlink(md)
		}
	}
}

// fail reports that a transfer could not begin.
func (a *Agent) fail(kind engine.InputKind, e *engine.Effect, err error) {
	a.log.Debug("selftest: a transfer cannot begin", slog.Any("peer", e.Peer), slog.Any("error", err))
	a.release(e.ID)
	a.runner.Do(engine.Input{Kind: kind, ID: e.ID, Failed: true})
}

// put puts bulk data to the client of an RPC.
func (a *Agent) put(e *engine.Effect) {
	id, b := e.ID, a.memory.source(e.Length, e.Check)
	md, err := a.table.MDBind(portals.MD{Segments: []lnd.Segment{b}, Threshold: 1, Handler: func(ev *portals.Event) {
		a.moved(engine.Input{Kind: engine.Moved, ID: id, Failed: ev.Kind != portals.EventSend || ev.Err != nil})
	}}, portals.Unlink)
	if err != nil {
		a.fail(engine.Moved, e, err)
		return
	}
	a.keep(id, memory{bulk: md})
	if err := a.table.Put(portals.PutRequest{Self: e.Self, MD: md, Target: e.Peer, Portal: wire.BulkPortal, MatchBits: e.Bits}); err != nil {
		a.fail(engine.Moved, e, err)
	}
}

// get gets bulk data from the client of an RPC, and verifies them.
func (a *Agent) get(e *engine.Effect) {
	id, b, check, bigEndian, list := e.ID, a.memory.sink(e.Length, e.Check), e.Check, e.BigEndian, e.List
	md, err := a.table.MDBind(portals.MD{Segments: []lnd.Segment{b}, Threshold: 2, Handler: func(ev *portals.Event) {
		if ev.Unlinked {
			defer a.memory.recycle(b)
		}
		in := engine.Input{Kind: engine.Moved, ID: id}
		switch {
		case ev.Kind == portals.EventReply && ev.Err == nil && (list || int(ev.MLength) == len(b)):
			in.Corrupt = !list && !engine.Verify(b, check, bigEndian)
			in.Data = b[:ev.MLength]
		case ev.Kind == portals.EventSend && ev.Err == nil && !ev.Unlinked:
			return
		default:
			in.Failed, in.Unsent = true, ev.Kind == portals.EventSend // a GET that had left before ends with another event
		}
		a.moved(in)
	}}, portals.Unlink)
	if err != nil {
		a.fail(engine.Moved, e, err)
		return
	}
	a.keep(id, memory{bulk: md})
	if err := a.table.Get(portals.GetRequest{Self: e.Self, MD: md, Target: e.Peer, Portal: wire.BulkPortal, MatchBits: e.Bits}); err != nil {
		a.fail(engine.Moved, e, err)
	}
}

// moved reports the end of a transfer, whose memory has unlinked itself.
func (a *Agent) moved(in engine.Input) {
	a.release(in.ID)
	a.runner.Do(in)
}

// call posts memory for the reply and the bulk data of an RPC, and puts its request.
func (a *Agent) call(e *engine.Effect) {
	m := memory{answer: a.newAnswer(e.ID)}
	var err error
	if m.reply, err = a.post(e, e.ID, portals.MD{Segments: m.answer.segments[:], Options: portals.OpPut, UserPtr: m.answer, Handler: a.answers}); err != nil {
		a.fail(engine.Sent, e, err)
		return
	}
	if e.Bits != 0 {
		if m.bulk, err = a.postBulk(e); err != nil {
			a.unlink(m)
			a.fail(engine.Sent, e, err)
			return
		}
	}
	a.keep(e.ID, m)
	a.request(e)
}

// postBulk posts memory that the server of an RPC puts bulk data into, or gets them from. The
// data begin at an offset of a page, as the test wants.
func (a *Agent) postBulk(e *engine.Effect) (portals.MDHandle, error) {
	if e.Op == wire.Write {
		return a.postSource(e)
	}
	id, check, whole := e.ID, e.Check, a.memory.sink(e.Offset+e.Length, e.Check)
	b := whole[e.Offset:]
	return a.post(e, e.Bits, portals.MD{Segments: []lnd.Segment{b}, Options: portals.OpPut, Handler: func(ev *portals.Event) {
		if ev.Unlinked {
			defer a.memory.recycle(whole)
		}
		if ev.Kind != portals.EventPut {
			return
		}
		in := engine.Input{Kind: engine.Bulk, ID: id, Failed: ev.Err != nil || int(ev.MLength) != len(b)}
		// The byte order of the server is not known before its reply, so the data may have the pattern of either order.
		in.Corrupt = !in.Failed && !engine.Verify(b, check, false) && !engine.Verify(b, check, true)
		a.runner.Do(in)
	}})
}

// postSource posts memory that the server of an RPC gets bulk data from.
func (a *Agent) postSource(e *engine.Effect) (portals.MDHandle, error) {
	id, b := e.ID, a.memory.source(e.Length, e.Check)
	return a.post(e, e.Bits, portals.MD{Segments: []lnd.Segment{b}, Options: portals.OpGet, Handler: func(ev *portals.Event) {
		if ev.Kind == portals.EventGet {
			a.runner.Do(engine.Input{Kind: engine.Bulk, ID: id, Failed: ev.Err != nil || int(ev.MLength) != len(b)})
		}
	}})
}

// post posts memory for one message of the server of an RPC.
func (a *Agent) post(e *engine.Effect, bits uint64, md portals.MD) (portals.MDHandle, error) {
	md.Threshold = 1
	_, handle, err := a.table.Post(wire.BulkPortal, portals.Match{ID: e.Peer, Bits: bits}, md, portals.Unlink)
	return handle, err
}
