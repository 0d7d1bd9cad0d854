package scoll

import (
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// sending is what is known of a message on its way.
type sending struct {
	id       engine.RequestID // 0: nobody waits to hear that it left
	child    int
	part     uint32
	up       bool
	progress bool
}

// outgoing is a message on its way: header, with what follows it down the tree, then
// payload, then trailer.
type outgoing = portals.Outgoing[sending]

// refuse sends a reply that no request waits for.
func (a *Agent) refuse(e *engine.Effect, out *engine.Output) {
	m := a.outbox.New()
	m.Data = append(m.Data, out.Buf[e.Data.Begin:e.Data.End]...)
	m.Data = a.signer.Append(m.Data, keyring.Between(a.self, e.To).Number(e.Bits), m.Data)
	a.put(m, e.To, wire.ReplyPortal, e.Bits)
}

// sendProgress sends word of progress, or of holding.
func (a *Agent) sendProgress(e *engine.Effect, out *engine.Output) {
	a.sendDown(sending{id: e.ID, child: e.Child, progress: true}, e, out)
}

// sendDown sends a message to the portal of requests.
func (a *Agent) sendDown(s sending, e *engine.Effect, out *engine.Output) {
	m := a.outbox.New()
	m.Note, m.Data = s, append(m.Data, out.Buf[e.Data.Begin:e.Data.End]...)
	m.Data = a.signer.Append(m.Data, keyring.Between(a.self, e.To), m.Data)
	a.put(m, e.To, wire.RequestPortal, 0)
}

// put sends a message as a plain PUT with priority, without acknowledgement
// (collectives design, Reliable delivery).
func (a *Agent) put(m *outgoing, to nid.NID, portal int, bits uint64) {
	m.Priority = true
	a.outbox.Put(m, portals.PutRequest{
		Self: a.self, Target: nid.ProcessID{NID: to, PID: a.pid}, Portal: portal, MatchBits: bits,
	})
}

// sent ends the sending of a message.
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
