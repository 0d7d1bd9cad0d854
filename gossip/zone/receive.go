package zone

import (
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/portals"
)

// arrived passes a message to the machine.
func (a *Agent) arrived(e *portals.Event, data []byte) {
	if e.Initiator.PID != a.pid { // another program on a member's host is not a member
		a.otherPID.Add(1)
		return
	}
	if e.MatchBits != wire.Bits {
		a.strayBits.Add(1)
		return
	}
	a.runner.Do(engine.AddressedInput{Input: engine.Input{
		Kind: engine.Arrived, Peer: e.Source.NID, Primary: e.Initiator.NID, At: a.stamp(e.ReceivedAt), Wall: a.wall(), Data: data,
	}})
}

// stamp converts an instant on the node's clock to one on the agent's clock. The clocks differ
// if only the agent's goes on while the system is suspended. The result is 0, which means now,
// if the driver does not report when it received the message.
func (a *Agent) stamp(at time.Duration) time.Duration {
	if at == 0 {
		return 0
	}
	if node := a.table.Node().Clock(); a.clock != node {
		at = a.clock.Now() - (node.Now() - at)
	}
	return max(at, 1)
}
