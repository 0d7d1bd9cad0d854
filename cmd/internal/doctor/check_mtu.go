package doctor

import (
	"errors"
	"fmt"

	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// longestPacket is the length of the longest IP packet; loopback has a larger MTU.
const longestPacket = 65535

// Bytes of headers around the payload of a RoCE packet: IPv4, UDP, BTH, RETH and ICRC.
const roceHeaders = 20 + 8 + 12 + 16 + 4

// mtu sends packets of full size to the peers on the networks of this node.
func (e *exam) mtu() {
	if !e.needsNode() {
		return
	}
	for _, ni := range e.nis() {
		iface, err := e.host.Interface(ni.Interface)
		if err != nil {
			e.unknown(ni.NID, "", "interface %s: %v", ni.Interface, err)
			continue
		}
		if v := ni.LND.Verbs; v != nil && v.MTU+roceHeaders > iface.MTU {
			e.fail(ni.NID, fmt.Sprintf("lower o2ib.ib_mtu, or 'ip link set dev %s mtu %d'", ni.Interface, v.MTU+roceHeaders),
				"packets of RDMA have %d bytes, and interface %s takes %d", v.MTU+roceHeaders, ni.Interface, iface.MTU)
			continue
		}
		e.pathMTU(ni, iface)
	}
}

// targets returns the peers to examine that are on the network of an NI, and how many there are
// beyond the bound.
func (e *exam) targets(ni *node.NIStatus) (list []nid.NID, more int) {
	wanted := e.opts.Peers
	if len(wanted) == 0 {
		wanted = peerNIDs(e.peers)
	}
	for _, p := range wanted {
		if p.Net() != ni.NID.Net() || p == ni.NID {
			continue
		}
		if len(list) == maxPeers {
			more++
			continue
		}
		list = append(list, p)
	}
	return list, more
}

// peerNIDs returns each NID once; a peer that several NIs reach is several snapshots.
func peerNIDs(peers []lnet.PeerSnapshot) (list []nid.NID) {
	for _, p := range peers {
		if len(list) == 0 || list[len(list)-1] != p.NID {
			list = append(list, p.NID)
		}
	}
	return list
}

// pathMTU looks at the paths from an NI to its peers.
func (e *exam) pathMTU(ni *node.NIStatus, iface Interface) {
	peers, more := e.targets(ni)
	good := 0
	for _, p := range peers {
		if !p.Addr().IsValid() || !e.pathTo(ni, iface, p) {
			continue
		}
		good++
	}
	if good > 0 || len(peers) == 0 {
		e.ok(ni.NID, "%d bytes, to %d peers", iface.MTU, good)
	}
	if more > 0 {
		e.unknown(ni.NID, "name peers as arguments", "%d more peers were not looked at", more)
	}
}

// pathTo sends a packet of full size to a peer, and reports whether it was answered. Before that
// it sends a small one, because not all hosts answer.
func (e *exam) pathTo(ni *node.NIStatus, iface Interface, peer nid.NID) bool {
	const small = 100
	subject := fmt.Sprintf("%v → %v", ni.NID, peer)
	next := fmt.Sprintf("give all hosts and switches of the network the same MTU: 'ip link set dev %s mtu N', 'tracepath -n %v' finds the place", ni.Interface, peer.Addr())
	if r, err := e.host.Route(peer.Addr()); err == nil && r.MTU > 0 && r.MTU < iface.MTU {
		e.warn(subject, next, "the path carries packets of %d bytes, and interface %s has %d", r.MTU, ni.Interface, iface.MTU)
		return false
	}
	switch err := e.echo(ni, peer, small); {
	case errors.Is(err, ErrNotPermitted):
		e.unknown(subject, "run it as root", "sending pings of ICMP is not permitted")
		return false
	case err != nil:
		e.unknown(subject, "", "the host does not answer pings of ICMP: %v", err)
		return false
	}
	err := e.echo(ni, peer, min(iface.MTU, longestPacket))
	switch {
	case errors.Is(err, ErrTooLong), errors.Is(err, ErrNoAnswer):
		e.fail(subject, next, "packets of %d bytes are answered, and those of %d, the MTU of interface %s, are not", small, iface.MTU, ni.Interface)
	case err != nil:
		e.unknown(subject, "", "packets of %d bytes: %v", iface.MTU, err)
	}
	return err == nil
}

// echo tries twice, because any packet may be lost.
func (e *exam) echo(ni *node.NIStatus, peer nid.NID, size int) (err error) {
	for range 2 {
		if err = e.host.Echo(e.ctx, ni.NID.Addr(), peer.Addr(), size, e.opts.Timeout); !errors.Is(err, ErrNoAnswer) {
			break
		}
	}
	return err
}

// duplicates asks whether another host has an address of this node.
func (e *exam) duplicates() {
	if !e.needsNode() {
		return
	}
	for _, ni := range e.nis() {
		addr := ni.NID.Addr()
		if !addr.IsValid() || addr.IsLoopback() {
			continue
		}
		mac, err := e.host.Claimant(e.ctx, ni.Interface, addr, e.opts.Timeout)
		switch {
		case errors.Is(err, ErrNotPermitted):
			e.unknown(ni.NID, "run it as root", "sending requests of ARP is not permitted")
		case err != nil:
			e.unknown(ni.NID, "", "%v", err)
		case mac != "":
			e.fail(ni.NID, "give one of the two hosts another address; the switch knows the port of that hardware address", "%s has the address %v, too", mac, addr)
		default:
			e.ok(ni.NID, "no other host has %v", addr)
		}
	}
}
