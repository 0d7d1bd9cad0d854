package zone

import (
	"errors"

	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// Bounds in bytes: of the messages in flight to one peer, of those to all peers, and of the
// memory kept for later messages (local policy). A message beyond a bound is dropped as if the
// network had lost it, since the protocol repeats what matters.
const (
	maxToPeer  = 16 << 20
	maxSending = 256 << 20
	keptSpare  = 4 << 20
)

// urgentSize is the size up to which a message always has priority, in bytes (local policy).
// Small messages show that a node is alive. Without priority they would wait for credits behind
// bulk messages that the peer does not read, until the peer counts as dead.
const urgentSize = 1 << 10

// urgent reports whether a message goes ahead of others: one to which the machine gives priority, such as a notice to
// a monitor (MS-A32), or a small one. The rest of a long list may be small too, but stays behind the parts before it:
// a supervisor that gets the parts of a list in another order does not know all members afterwards.
func urgent(priority, rest bool, size int) bool { return priority || !rest && size <= urgentSize }

// sending is a message that is being sent.
type sending struct {
	to   engine.Target
	step uint64
}

func (a *Agent) openOutbox() {
	a.outbox.Open(a.table, portals.OutboxConfig[sending]{
		PeerBytes: maxToPeer, MaxBytes: maxSending, Spare: keptSpare, Done: a.sent,
	})
}

// send sends a message as a PUT that requests no LNet ACK. News of members is not sent any more once its receiver has
// been out of reach for two timeouts: the receiver may have restarted, and would take members that have died meanwhile
// for live ones. The link to it has failed by then, and a new link begins with the whole view.
func (a *Agent) send(to *engine.Target, data []byte, priority, news bool, step uint64) {
	m := a.outbox.New()
	m.Note, m.Data = sending{*to, step}, append(m.Data, data...)
	m.Priority = priority
	r := portals.PutRequest{Target: nid.ProcessID{NID: to.NID, PID: a.pid}, Portal: wire.Portal, MatchBits: wire.Bits}
	if news {
		r.LeaveWithin = a.fresh
	}
	a.outbox.Put(m, r)
}

// sent reports to the machine that a message could not be sent, unless a bound of this node was
// the reason, or the message is late: the peer can be reached again then. If sending did not even begin, the cause is not
// the peer.
func (a *Agent) sent(s sending, err error) {
	if err == nil || errors.Is(err, portals.ErrOutboxFull) || errors.Is(err, portals.ErrLate) || !s.to.ID.IsValid() {
		return
	}
	var call *portals.OpError
	local := errors.As(err, &call) || portals.LocalFault(err)
	switch {
	case s.to.Across && local: // a local failure of a message to another zone does not count
	case s.to.Across:
		a.runner.Do(engine.AddressedInput{Input: engine.Input{Kind: engine.DispatchFailed}, About: s.to.ID, Sent: s.step})
	default:
		a.runner.Do(engine.AddressedInput{Input: engine.Input{Kind: engine.Failed, Local: local}, About: s.to.ID, Sent: s.step})
	}
}
