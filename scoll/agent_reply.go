package scoll

import (
	"slices"

	"ulnet/portals/keyring"
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// Reply sends the last, or only, message of the service's reply to the parent. The buffer
// belongs to the module until ReplyOut.
//
//	EAGAIN    PostReply was not called yet
//	EALREADY  the last message was made before: by the service or, because the service took
//	          too long, by the module; or IncomingRequest has failed, see ReplyBelow
//	EINVAL    this is the root
//	EMSGSIZE  more than a message can carry: use ReplyPart
//	ESTALE    the handle has ended
func (r *Request) Reply(buf []byte) error { return r.reply(buf, engine.Input{Final: true}) }

// ReplyBelow is Reply with an answer of the members below this node, without this node's own.
// The root reports this node as unreached with s, which must not be OK. If IncomingRequest has
// failed, the root reports its error instead; in this case the service can call ReplyBelow
// until both IncomingRequest and PostReply have returned. Errors as with Reply; EINVAL also: s
// is OK.
func (r *Request) ReplyBelow(buf []byte, s Status) error {
	if s == OK {
		return EINVAL
	}
	return r.reply(buf, engine.Input{Final: true, Below: true, Status: s})
}

// ReplyPart sends a message of a reply before the last one, which Reply sends. A reply has at
// most 63 such parts. Errors as with Reply; EMSGSIZE also: it is the 64th part.
func (r *Request) ReplyPart(buf []byte) error { return r.reply(buf, engine.Input{}) }

func (r *Request) reply(buf []byte, in engine.Input) error {
	r.mu.Lock()
	var err error
	switch {
	case r.root:
		err = EINVAL
	case r.stage != replyStage:
		err = r.refusal()
	case r.failed && in.Final && !in.Below:
		err = EALREADY
	case len(buf) > r.maxReply(), !in.Final && r.parts == wire.MaxParts-1:
		err = EMSGSIZE
	case in.Final:
		r.stage, r.final = repliedStage, buf
	default:
		r.parts++
	}
	in.Kind, in.ID, in.Size = engine.Answer, r.id, len(buf)
	a := r.agent // read now: after the unlock the module may end the request, and another request use the handle
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if in.Token = any(r); !in.Final {
		in.Token = buf
	}
	a.tell(in)
	return nil
}

// maxReply returns the payload that a message of a reply can carry beside a trailer with all
// members below.
func (r *Request) maxReply() int {
	return r.agent.cfg.MaxPayload - wire.ReplyHeaderSize - wire.TrailerEntrySize*min(r.tree.Size(r.rank), engine.MaxTrailer) - r.agent.signer.CodeSize()
}

// refusal returns the error of a method that is called at the wrong time. The caller holds
// r.mu.
func (r *Request) refusal() error {
	switch {
	case r.stage == endedStage:
		return ESTALE
	case r.stage < replyStage && !r.root:
		return EAGAIN
	}
	return EALREADY
}

// Abort stops waiting for the children at this node; members below may go on. Callbacks that
// are due get ECANCELED. Buffers are free after the last callback.
func (r *Request) Abort() {
	r.mu.Lock()
	r.aborted = true
	a, id, ended := r.agent, r.id, r.stage == endedStage
	r.mu.Unlock()
	if id != 0 && !ended {
		a.tell(engine.Input{Kind: engine.Abort, ID: id})
	}
}

// sendUp sends a message of a reply to the parent. It keeps the message for retries.
func (r *Request) sendUp(e *engine.Effect, out *engine.Output) {
	if r.replies == nil {
		r.replies = r.single[:0]
	}
	for len(r.replies) <= int(e.Part) {
		r.replies = append(r.replies, reply{})
	}
	p := &r.replies[e.Part]
	if !e.Again {
		copy(p.header[:], out.Buf[e.Data.Begin:e.Data.End])
		p.trailer = append(p.trailer, out.Buf[e.Trailer.Begin:e.Trailer.End]...)
		if p.payload = r.own(e.Token); !e.Own {
			p.payload = slices.Clone(out.Buf[e.Carried.Begin:e.Carried.End])
		}
		if e.Final && !e.Own {
			r.mu.Lock()
			if r.stage == sentStage || r.stage == replyStage {
				r.stage = repliedStage
			}
			r.mu.Unlock()
		}
	}
	m := r.agent.outbox.New()
	m.Note = sending{id: e.ID, part: e.Part, up: true}
	m.Data, m.Payload, m.Trailer = append(m.Data, p.header[:]...), p.payload, append(m.Trailer, p.trailer...)
	m.Trailer = r.agent.signer.Append(m.Trailer, keyring.Between(r.agent.self, e.To).Number(e.Bits), m.Data, m.Payload, m.Trailer)
	r.agent.put(&r.agent.outbox, m, e.To, wire.ReplyPortal, e.Bits)
}

// own returns the payload of a message of the service's reply. token is the payload or, for the last message, the
// request, whose field final has the payload.
func (r *Request) own(token any) []byte {
	switch of := token.(type) {
	case []byte:
		return of
	case *Request:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.final
	}
	return nil
}

// reply is a message of a reply to the parent.
type reply struct {
	header           [wire.ReplyHeaderSize]byte
	payload, trailer []byte
}
