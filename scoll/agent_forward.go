package scoll

import (
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// forward sends a request to children, for effects of the kind DoSend. It posts the reply
// buffers of all of them first (SC-152), so that the messages leave one right after the other.
func (a *Agent) forward(sends []engine.Effect, out *engine.Output) {
	for i := range sends {
		e := &sends[i]
		if err := a.request(e.ID).postFor(e); err != nil {
			e.Status = wire.StatusOf(err)
		}
	}
	for i := range sends {
		e := &sends[i]
		if e.Status == OK {
			a.sendDown(sending{id: e.ID, child: e.Child}, e, out)
			continue
		}
		a.do(engine.Input{Kind: engine.InSent, ID: e.ID, Child: e.Child, Status: e.Status})
	}
}

// sendsIn returns how many effects at the beginning of a list send requests to children.
func sendsIn(effects []engine.Effect) (n int) {
	for n < len(effects) && effects[n].Kind == engine.DoSend {
		n++
	}
	return n
}

// postFor posts a child's reply buffers.
func (r *Request) postFor(e *engine.Effect) error {
	var few [8]*post
	posts := r.buffers.of(few[:0], e.Child)
	if len(posts) == 0 { // the children belong to a request of the module alone
		posts = append(posts, r.buffers.add(r, e.Child, nil))
	}
	for _, p := range posts {
		if err := p.attach(e.To, e.Bits, e.Nodes, e.Room); err != nil {
			return err
		}
	}
	return nil
}
