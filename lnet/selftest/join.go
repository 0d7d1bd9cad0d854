package selftest

import (
	"syscall"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// Join is the request of a node to become a member of the session of this node's console.
type Join struct {
	Peer     nid.ProcessID // the node
	Self     nid.NID       // NID of this node that the request was sent to: the reply leaves from there
	ReplyID  uint64        // match bits of the reply, which goes to wire.BulkPortal
	Features wire.Features // features of the request
	Request  wire.Join     // the request
}

// ServeJoin gives JOIN requests of nodes that Config.Allow allows to the console of this node, which
// sends the replies, until stop is called. f is called for one request at a time, and must not block.
// Without a console JOIN requests are refused. EBUSY: the node has a console already.
func (a *Agent) ServeJoin(f func(Join)) (stop func(), err error) {
	if !a.join.CompareAndSwap(nil, &f) {
		return nil, syscall.EBUSY
	}
	return func() { a.join.CompareAndSwap(&f, nil) }, nil
}

// giveJoin gives a JOIN request to the console.
func (a *Agent) giveJoin(e *engine.Effect) {
	if f := a.join.Load(); f != nil {
		(*f)(Join{Peer: e.Peer, Self: e.Self, ReplyID: e.Bits, Features: e.Features, Request: *e.Join})
	}
}
