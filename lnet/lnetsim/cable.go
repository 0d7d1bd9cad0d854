package lnetsim

import (
	"errors"

	"ulnet/lnd/simlnd"
)

// errNoCarrier is the reason that an NI is told when its rail is unplugged.
var errNoCarrier = errors.New("no carrier")

// cables is the state of a node's rails, a bit for each. It outlives the incarnations of the
// node.
type cables struct {
	unplugged uint32 // bits of the rails whose cable is unplugged
	severed   uint32 // bits of the rails that lose all messages without a sign to the node
}

// tell tells the NIs of a stack whether their links are up.
func (c *cables) tell(s *Stack) {
	for _, at := range s.nis {
		if c.unplugged>>at.rail&1 != 0 {
			at.ni.SetLink(errNoCarrier)
		} else {
			at.ni.SetLink(nil)
		}
	}
}

// cable applies a verb of a scenario (unplug, plug, sever, mend) to a rail of a node.
func (n *network) cable(m *member, verb string, rail simlnd.Rail) {
	if int(rail) >= n.layout.rails {
		return
	}
	id := m.stack.Host.ID()
	c, bit := &n.cables[id], uint32(1)<<rail
	switch verb {
	case "unplug":
		c.unplugged |= bit
	case "plug":
		c.unplugged &^= bit
	case "sever":
		c.severed |= bit
	case "mend":
		c.severed &^= bit
	}
	n.Fabric.CutRail(id, rail, (c.unplugged|c.severed)&bit != 0)
	c.tell(m.stack)
}
