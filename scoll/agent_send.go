package scoll

import (
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// sending identifies a message that is being sent.
type sending struct {
	id       engine.RequestID // 0: the machine does not wait for the result
	child    int
	part     uint32
	up       bool
	progress bool
}

// outgoing is a message that is being sent: a header or request, followed by a payload and a
// trailer.
type outgoing = portals.Outgoing[sending]

// refusalBounds limit the refusals that are being sent; local policy. A node that sends requests and reads no
// refusals, or is dead, would otherwise make this node keep a refusal for each request, and many such nodes would leave
// no room for refusals to others. A refusal beyond the bounds is not sent, and the node that sent the request gives it up
// by its time-out.
var refusalBounds = portals.OutboxConfig[sending]{PeerMessages: 1024, OwnMessages: 32, MaxMessages: 1 << 15}

// refuse sends a reply that belongs to no request of this node.
func (a *Agent) refuse(e *engine.Effect, out *engine.Output) {
	by := &a.refusals
	if e.Stranger {
		by = &a.strangers
	}
	m := by.New()
	m.Data = append(m.Data, out.Buf[e.Data.Begin:e.Data.End]...)
	m.Data = a.signer.Append(m.Data, keyring.Between(a.self, e.To).Number(e.Bits), m.Data)
	a.put(by, m, e.To, wire.ReplyPortal, e.Bits)
}

// sendProgress sends a Progress or a Hold.
func (a *Agent) sendProgress(e *engine.Effect, out *engine.Output) {
	a.sendDown(sending{id: e.ID, child: e.Child, progress: true}, e, out)
}

// sendDown sends a message to the portal of requests.
func (a *Agent) sendDown(s sending, e *engine.Effect, out *engine.Output) {
	m := a.outbox.New()
	m.Note, m.Data = s, append(m.Data, out.Buf[e.Data.Begin:e.Data.End]...)
	m.Data = a.signer.Append(m.Data, keyring.Between(a.self, e.To), m.Data)
	a.put(&a.outbox, m, e.To, wire.RequestPortal, 0)
}

// put sends a message by an outbox, as a PUT with priority and without acknowledgement (collectives design,
// Reliable delivery).
func (a *Agent) put(by *portals.Outbox[sending], m *outgoing, to nid.NID, portal int, bits uint64) {
	m.Priority = true
	by.Put(m, portals.PutRequest{
		Self: a.self, Target: nid.ProcessID{NID: to, PID: a.pid}, Portal: portal, MatchBits: bits,
	})
}

// sent reports the result of sending a message to the machine.
func (a *Agent) sent(s sending, err error) {
	in := engine.Input{Kind: engine.InSent, ID: s.id, Child: s.child, Part: s.part, Status: wire.StatusOf(err)}
	switch {
	case s.up:
		in.Child = engine.Upward
	case s.progress:
		in.Kind = engine.InUntold
	}
	if s.id != 0 && (s.up || err != nil) {
		a.do(in)
	}
}
