package scollsim

import (
	"bytes"
	"slices"

	"ulnet/lnd/sim/scenario/kit"
	"ulnet/scoll"
)

// service returns the service of a stack, which behaves like that of bare machines.
func (k *stack) service() scoll.Service {
	return scoll.Service{
		ID:              service,
		PreRequest:      k.preRequest,
		IncomingRequest: k.incoming,
		IncomingReply: func(p *scoll.Reply) {
			w, ok := p.Request.Data.(*work)
			switch of := uint64(kit.NodeOf(p.From)); {
			case !ok:
			case p.Status != scoll.OK:
				w.take(of, nil)
			case len(p.Payload) > 0:
				w.take(of, p.Payload)
			}
		},
		PostReply: k.postReply,
		ReplyOut:  k.close,
		MapGroup:  func(id scoll.OOBID) (*scoll.Membership, error) { return k.net.groups.mapped(id.Low) },
	}
}

func (k *stack) preRequest(r *scoll.Request) error {
	if r.Root() { // at the root, PreRequest is called only before another attempt
		b := r.Private().(*Broadcast)
		r.Data = &work{number: b.Number, root: true}
		k.roster(b)
		return k.post(r)
	}
	if k.net.services[k.host.ID()].kind == rejects {
		return scoll.EPERM
	}
	g := r.Group()
	if id := g.ID(); id.Creator.IsValid() && k.handles[id] == nil {
		k.handles[id] = g
	}
	if size := r.BulkLength(); size > 0 {
		if err := r.SetBulk(make([]byte, size)); err != nil {
			return err
		}
	}
	w := &work{number: numberOf(r.Payload())}
	w.worked = r.Repeated()
	r.Data = w
	k.open = append(k.open, r)
	return k.post(r)
}

// post posts buffers for the replies of the children. A service of the kind parts sends one
// message, and its module a second one.
func (k *stack) post(r *scoll.Request) error {
	for i := range r.Children() {
		for range 2 {
			if err := r.PostReply(i, make([]byte, entrySize*r.Child(i).Nodes)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *stack) incoming(r *scoll.Request) error {
	w, n := r.Data.(*work), k.net
	if r.BulkStatus() != scoll.OK {
		w.failed = true
		return nil
	}
	k.checkBulk(r, w)
	switch s := n.begins(w, k.host.Incarnation()); s.kind {
	case fails:
		return scoll.EIO
	case aborts:
		r.Abort()
	case slow:
		k.host.Clock().AfterFunc(max(s.delay, 1), func() {
			w.worked = true
			k.answer(r, w)
		})
	default:
		k.answer(r, w)
	}
	return nil
}

// checkBulk compares the bulk data that arrived with the data that was sent.
func (k *stack) checkBulk(r *scoll.Request, w *work) {
	l, size := &k.net.ledger, r.BulkLength()
	if size > 0 && !bytes.Equal(slices.Concat(r.Bulk()...), pattern(w.number, size)) {
		kit.Note(&l.altered, "node %v got other bulk data than were sent with broadcast %s", k.host.ID(), l.of(w.number).name())
	}
}

func (k *stack) postReply(r *scoll.Request) {
	w := r.Data.(*work)
	if !w.root {
		w.posted = true
		k.answer(r, w)
		return
	}
	b := k.net.ledger.of(w.number)
	if s := r.Status(); s != scoll.OK {
		b.notSent(s)
	} else {
		var missing []Missing
		for _, u := range r.Unreached() {
			missing = append(missing, Missing{kit.NodeOf(u.NID), u.Status})
		}
		k.net.ledger.done(w.number, w.all(), missing)
	}
	k.close(r)
}

// answer sends the reply, if its time has come.
func (k *stack) answer(r *scoll.Request, w *work) {
	b, kind, ok := k.net.answer(w, k.host.ID())
	if !ok {
		return
	}
	switch kind { // an error of Reply means that the module has answered
	case parts:
		_ = r.ReplyPart(b)
	case below:
		_ = r.ReplyBelow(b, scoll.EAGAIN)
	case large:
		_ = r.Reply(make([]byte, 2<<20))
	default:
		_ = r.Reply(b)
	}
}

// close removes a request that has ended.
func (k *stack) close(r *scoll.Request) {
	k.open = slices.DeleteFunc(k.open, func(o *scoll.Request) bool { return o == r })
}
