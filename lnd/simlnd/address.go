package simlnd

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
)

// Net is tcp, the net of all simulated hosts.
var Net = nid.MakeNet(nid.TCP, 0)

// maxNodes is the number of hosts that have addresses.
const maxNodes = 1<<24 - 2

const base = 10 << 24 // the address 10.0.0.0

// Rail is one of a host's interfaces, from 0 on. An NI is on one rail; several NIs may share
// one, on different nets.
type Rail uint8

// MaxRails is the largest number of rails that a host may have.
const MaxRails = 8

// railShift is the position of the rail in an address: rail 1 has 11.x.y.z.
const railShift = 24

// NID returns the NID of a host on Net, of its rail 0.
func NID(id sim.NodeID) nid.NID { return NIDOn(Net, id, 0) }

// NIDOn returns the NID that a rail of a host has on a net of type TCP.
func NIDOn(net nid.Net, id sim.NodeID, rail Rail) nid.NID {
	return nid.FromNumber(net, base+uint32(rail)<<railShift+1+uint32(id))
}

// Node returns the host with a NID, which may be on any net of type TCP and any rail; false
// if that is no address of a host.
func Node(n nid.NID) (id sim.NodeID, ok bool) {
	id, _, ok = locate(n)
	return id, ok
}

// locate returns the host with a NID, and the rail.
func locate(n nid.NID) (id sim.NodeID, rail Rail, ok bool) {
	if n.Net().Type() != nid.TCP || !n.Is4() {
		return 0, 0, false
	}
	number := n.Number() - base // below 10.0.0.0 this wraps around to a large number, which is no rail
	host := number & (1<<railShift - 1)
	rail = Rail(min(number>>railShift, MaxRails))
	return sim.NodeID(host - 1), rail, host > 0 && host <= maxNodes && rail < MaxRails
}

// parseRail parses the interface of an NI: "eth0" or an empty text is rail 0, "eth1" is rail 1.
func parseRail(text string) (Rail, error) {
	if text == "" {
		return 0, nil
	}
	number, ok := strings.CutPrefix(text, "eth")
	rail, err := strconv.ParseUint(number, 10, 8)
	if !ok || err != nil || rail >= MaxRails {
		return 0, fmt.Errorf("simlnd: no interface %q: want eth0 to eth%d: %w", text, MaxRails-1, syscall.ENODEV)
	}
	return Rail(rail), nil
}
