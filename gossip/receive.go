package gossip

import (
	"ulnet/gossip/engine"
	"ulnet/gossip/wire"
	"ulnet/portals"
)

// arrived passes a message to the machine (GO-52, GO-53).
func (a *Agent) arrived(e *portals.Event, data []byte) {
	if e.Source.PID != a.pid { // another program on a participant's host is not a participant
		a.otherPID.Add(1)
		return
	}
	in := engine.Input{From: e.Source.NID, Primary: e.Initiator.NID, Data: data}
	switch {
	case e.MatchBits == wire.PingBits:
		in.Kind = engine.Ping
	case e.MatchBits == wire.ReplyBits:
		in.Kind = engine.Reply
	default:
		a.strayBits.Add(1)
		return
	}
	a.runner.Do(in)
}
