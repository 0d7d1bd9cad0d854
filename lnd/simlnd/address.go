package simlnd

import (
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
)

// Net is the net of simulated hosts: tcp.
var Net = nid.MakeNet(nid.TCP, 0)

// maxNodes is how many hosts have an address.
const maxNodes = 1<<24 - 2

const base = 10 << 24 // 10.0.0.0

// NID returns the NID of a host on Net.
func NID(id sim.NodeID) nid.NID { return nid.FromNumber(Net, base+1+uint32(id)) }

// Node returns the host with a NID, which may be on any net of type TCP; false
// if that is no address of a host.
func Node(n nid.NID) (id sim.NodeID, ok bool) {
	if n.Net().Type() != nid.TCP || !n.Is4() {
		return 0, false
	}
	number := n.Number() - base - 1 // wraps around below 10.0.0.1
	return sim.NodeID(number), number < maxNodes
}
