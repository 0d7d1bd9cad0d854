package zone

import (
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/portals"
)

// arrived gives the machine a message.
func (a *Agent) arrived(e *portals.Event, data []byte) {
	if e.Initiator.PID != a.pid { // a program on the host of a member is none
		a.otherPID.Add(1)
		return
	}
	if e.MatchBits != wire.Bits {
		a.strayBits.Add(1)
		return
	}
	a.runner.Do(engine.AddressedInput{Input: engine.Input{Kind: engine.Arrived, Peer: e.Source.NID, At: a.stamp(e.ReceivedAt), Data: data}})
}

// stamp turns an instant on the node's clock into one on the agent's: they differ
// where the agent's goes on while the system is suspended. It is 0 for a driver that
// does not say when it had the message: that is now.
func (a *Agent) stamp(at time.Duration) time.Duration {
	if at == 0 {
		return 0
	}
	if node := a.table.Node().Clock(); a.clock != node {
		at = a.clock.Now() - (node.Now() - at)
	}
	return max(at, 1)
}
