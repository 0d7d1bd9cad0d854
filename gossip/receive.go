package gossip

import (
	"ulnet/gossip/engine"
	"ulnet/gossip/wire"
	"ulnet/portals"
)

// arrived gives the machine a message (GO-52, GO-53).
func (a *Agent) arrived(e *portals.Event, data []byte) {
	if e.Initiator.PID != a.pid { // a program on the host of a participant is none
		a.otherPID.Add(1)
		return
	}
	in := engine.Input{From: e.Initiator.NID, Data: data}
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
