package doctor

import (
	"fmt"
)

// icrc looks for packets of RDMA that were changed on their way.
func (e *exam) icrc() {
	if !e.needsNode() {
		return
	}
	for _, ni := range e.nis() {
		if !inSoftware(ni) {
			continue
		}
		if n := ni.LND.Verbs.Counters["bad_icrc"]; n > 0 {
			e.fail(ni.NID, "something on the way changes packets, as NAT and some tunnels do, or damages them; 'lnetdump -i "+ni.Interface+"' names each packet with a wrong ICRC", "%d packets had a wrong ICRC and were dropped", n)
			continue
		}
		e.ok(ni.NID, "no packet had a wrong ICRC")
	}
}

// gro looks whether the system joins and divides packets, without which RDMA in software is several
// times as slow.
func (e *exam) gro() {
	if !e.needsNode() {
		return
	}
	for _, ni := range e.nis() {
		if !inSoftware(ni) {
			continue
		}
		iface, err := e.host.Interface(ni.Interface)
		if err != nil || len(iface.GRO) == 0 {
			e.unknown(ni.NID, "see 'ethtool -k "+ni.Interface+"'", "the features of interface %s are not known", ni.Interface)
			continue
		}
		before := len(e.found)
		for _, f := range []string{"gro", "gso"} {
			if on, known := iface.GRO[f]; known && !on {
				e.warn(ni.NID, fmt.Sprintf("ethtool -K %s %s on", ni.Interface, f), "%s of interface %s is off: RDMA in software is several times as slow", f, ni.Interface)
			}
		}
		if len(e.found) == before {
			e.ok(ni.NID, "interface %s joins and divides packets", ni.Interface)
		}
	}
}
