package scollsim

import (
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/scoll"
	"ulnet/scoll/engine"
)

// part returns a copy of a range of the output, for a message.
func (p *program) part(r engine.Range) []byte { return slices.Clone(p.net.out.Buf[r.Begin:r.End]) }

// apply applies an effect.
func (p *program) apply(now time.Duration, e *engine.Effect, out *sim.Output[*message]) {
	switch e.Kind {
	case engine.DoSend:
		p.put(kit.NodeOf(e.To), &message{fields: fields{Kind: Request}, data: p.part(e.Data)}, out)
		p.input(engine.Input{Kind: engine.InSent, ID: e.ID, Child: e.Child})
	case engine.DoReply:
		p.reply(e, out)
	case engine.DoRefuse:
		p.put(kit.NodeOf(e.To), &message{fields: fields{Kind: Reply, Bits: e.Bits}, data: p.part(e.Data)}, out)
	case engine.DoTell:
		p.put(kit.NodeOf(e.To), &message{fields: fields{Kind: Progress}, data: p.part(e.Data)}, out)
	case engine.DoExpose:
		p.expose(e)
	case engine.DoFetch:
		p.fetch(e, out)
	case engine.DoFetchMore:
		p.fetchMore(e, out)
	case engine.DoStop:
		delete(p.fetches, e.ID)
		p.input(engine.Input{Kind: engine.InFetched, ID: e.ID, Status: scoll.ETIMEDOUT})
	case engine.DoWithdraw:
		p.withdraw(e.ID)
	case engine.DoFree:
		delete(p.works, e.ID)
		delete(p.fetches, e.ID)
	case engine.Began, engine.Refused, engine.Created:
		p.ours(e)
	default:
		p.call(now, e)
	}
}

// reply sends an answer to the parent.
func (p *program) reply(e *engine.Effect, out *sim.Output[*message]) {
	m := &message{fields: fields{Kind: Reply, Bits: e.Bits}, data: p.part(e.Data), payload: p.part(e.Carried), trailer: p.part(e.Trailer)}
	if e.Own {
		m.payload, _ = e.Token.([]byte)
	}
	p.put(kit.NodeOf(e.To), m, out)
	p.input(engine.Input{Kind: engine.InSent, ID: e.ID, Child: engine.Upward, Part: e.Part})
}

// ours handles an effect with the result of a broadcast or a group of this node.
func (p *program) ours(e *engine.Effect) {
	switch t := e.Token.(type) {
	case *namedGroup:
		if e.Kind == engine.Created {
			t.created(e.Group, e.Status)
		} else if e.Kind == engine.Refused {
			t.refused()
		}
	case *Broadcast:
		if e.Kind == engine.Refused {
			t.notSent(e.Status)
			return
		}
		p.net.sent(t, p.roster(t, e.Members))
		p.works[e.ID] = &work{number: t.Number, root: true, bulk: uint64(t.order.bulk)}
	}
}

// roster returns the nodes to which a broadcast goes. If it goes to the live members, roster checks that
// these are the members of the group that this node takes for alive.
func (p *program) roster(b *Broadcast, got *scoll.Membership) []sim.NodeID {
	members, want := nodesOf(got), nodesOf(b.whole)
	if b.order.isLive() && p.net.oracle.on() {
		want = slices.DeleteFunc(want, func(id sim.NodeID) bool { return id != p.id && p.isDead(id) })
	}
	if !slices.Equal(members, want) {
		kit.Note(&p.net.ledger.roster, "broadcast %s is for %v, want %v", b.name(), sim.Nodes(members...), sim.Nodes(want...))
	}
	return members
}

// call calls the service.
func (p *program) call(now time.Duration, e *engine.Effect) {
	n, w := p.net, p.works[e.ID]
	switch e.Kind {
	case engine.CallPreRequest:
		p.preRequest(e, w)
	case engine.CallIncoming:
		p.incoming(now, e, w)
	case engine.CallReply:
		switch {
		case w == nil:
		case e.Status != scoll.OK:
			w.take(uint64(e.Rank), nil)
		case e.Passed:
			w.take(uint64(e.Rank), p.part(e.Data))
		case p.arrived != nil:
			w.take(uint64(e.Rank), p.arrived.payload)
		}
		p.input(engine.Input{Kind: engine.InReply, ID: e.ID, Child: e.Child})
	case engine.CallPostReply:
		p.input(engine.Input{Kind: engine.InPostReply, ID: e.ID})
		if w.root {
			n.ledger.done(w.number, w.all(), p.missing(e, n.ledger.of(w.number)))
			return
		}
		w.posted = true
		p.answer(e.ID, w)
	case engine.CallReplyOut:
		p.input(engine.Input{Kind: engine.InReplyOut, ID: e.ID})
	case engine.CallMap:
		in := engine.Input{Kind: engine.InMapped, ID: e.ID}
		var err error
		if in.Members, err = n.groups.mapped(e.Group.Index); err != nil {
			in.Status = scoll.ENOGROUP
		}
		p.input(in)
	}
}

// preRequest accepts or refuses a request. At the root it is called before another attempt,
// with other members.
func (p *program) preRequest(e *engine.Effect, w *work) {
	n, in := p.net, engine.Input{Kind: engine.InPreRequest, ID: e.ID}
	if w != nil {
		w.got = nil
		b := n.ledger.of(w.number)
		n.sent(b, p.roster(b, e.Members))
	} else {
		w = &work{number: numberOf(n.out.Buf[e.Data.Begin:e.Data.End]), bulk: e.Header.Bulk.Length}
		w.worked = e.Again
		p.works[e.ID] = w
		if n.services[p.id].kind == rejects {
			in.Status = scoll.EPERM
		}
	}
	p.input(in)
}

// incoming runs a request.
func (p *program) incoming(now time.Duration, e *engine.Effect, w *work) {
	in := engine.Input{Kind: engine.InIncoming, ID: e.ID}
	if e.Status != scoll.OK { // the bulk data could not be fetched, and the module has answered
		w.failed = true
		p.input(in)
		return
	}
	switch s := p.net.begins(w, p.incarnation); s.kind {
	case slow:
		p.addErrand(errand{now + max(s.delay, 1), e.ID})
		return
	case stuck:
		return
	case fails:
		in.Status = scoll.EIO
	case aborts:
		p.input(engine.Input{Kind: engine.Abort, ID: e.ID})
	}
	p.input(in)
}

// answer replies, if it is time. A reply that is too large for a message is never sent.
func (p *program) answer(id engine.RequestID, w *work) {
	b, kind, ok := p.net.answer(w, p.id)
	if !ok || kind == large {
		return
	}
	in := engine.Input{Kind: engine.Answer, ID: id, Final: true, Size: len(b), Token: b}
	switch kind {
	case parts:
		in.Final = false
	case below:
		in.Below, in.Status = true, scoll.EAGAIN
	}
	p.input(in)
}

// missing lists the members that the machine reports missing.
func (p *program) missing(e *engine.Effect, b *Broadcast) []Missing {
	list := p.net.out.Missing[e.Missing.Begin:e.Missing.End]
	out := make([]Missing, len(list))
	for i, m := range list {
		out[i] = Missing{b.Members[m.Rank], m.Status}
	}
	return out
}
