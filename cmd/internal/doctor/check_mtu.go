package doctor

import (
	"errors"
	"fmt"
	"slices"

	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// longestPacket is the length of the longest IP packet; loopback has a larger MTU.
const longestPacket = 65535

// Bytes of headers around the payload of a RoCE packet: IPv4, UDP, BTH, RETH and ICRC.
const roceHeaders = 20 + 8 + 12 + 16 + 4

// A path is the way from an NI, by the interface that the NI is on, to a peer.
type path struct {
	ni    *node.NIStatus
	iface Interface
	peer  nid.NID
}

func (p path) String() string { return fmt.Sprintf("%v → %v", p.ni.NID, p.peer) }

// mtu sends packets of full size to the peers on the networks of this node.
func (e *exam) mtu() {
	for _, ni := range e.nis() {
		iface, err := e.host.Interface(ni.Interface)
		if err != nil {
			e.unknown(ni.NID, "see 'ip link'", "interface %s: %v", ni.Interface, err)
			continue
		}
		if v := ni.LND.Verbs; v != nil && v.MTU+roceHeaders > iface.MTU {
			e.fail(ni.NID, fmt.Sprintf("lower o2ib.ib_mtu, or 'ip link set dev %s mtu %d'", ni.Interface, v.MTU+roceHeaders),
				"packets of RDMA have %d bytes, and interface %s takes %d", v.MTU+roceHeaders, ni.Interface, iface.MTU)
			continue
		}
		e.paths(ni, iface)
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

// peerNIDs returns each NID once. A peer has a snapshot for each NI that reaches it.
func peerNIDs(peers []lnet.PeerSnapshot) (list []nid.NID) {
	for _, p := range peers {
		if len(list) == 0 || list[len(list)-1] != p.NID {
			list = append(list, p.NID)
		}
	}
	return list
}

// paths looks at the paths from an NI to its peers, at several at a time.
func (e *exam) paths(ni *node.NIStatus, iface Interface) {
	peers, more := e.targets(ni)
	peers = slices.DeleteFunc(peers, func(p nid.NID) bool { return p.Addr().Is4() != ni.NID.Addr().Is4() })
	errs := make([]error, len(peers))
	each(len(peers), func(i int) { errs[i] = e.probe(path{ni, iface, peers[i]}) })
	good := 0
	for i, err := range errs {
		p := path{ni, iface, peers[i]}
		switch told := (*tooSmall)(nil); {
		case err == nil:
			good++
		case errors.As(err, &told) && told.known:
			e.warn(p, p.next(), "%v", told)
		case errors.As(err, &told):
			e.fail(p, p.next(), "%v", told)
		case errors.Is(err, ErrNotPermitted):
			e.unknown(p, "run it as root", "sending pings of ICMP is not permitted")
		case e.late(p):
		default:
			e.unknown(p, "the check reach says whether LNet reaches it", "the host does not answer pings of ICMP: %v", err)
		}
	}
	if good > 0 || len(peers) == 0 {
		e.ok(ni.NID, "%d bytes, to %d peers", iface.MTU, good)
	}
	if more > 0 {
		e.unknown(ni.NID, "name peers as arguments", "%d more peers were not looked at", more)
	}
}

// next says what to do about a path that does not carry packets of full size.
func (p path) next() string {
	return fmt.Sprintf("give all hosts and switches of the network the same MTU: 'ip link set dev %s mtu N', 'tracepath -n %v' finds the place", p.ni.Interface, p.peer.Addr())
}

// tooSmall is the error of a path that does not carry packets of full size.
type tooSmall struct {
	known bool // true: the system knows the smaller MTU of the path, so it sends packets that fit
	text  string
}

func (t *tooSmall) Error() string { return t.text }

// probe sends a packet of full size to a peer. Before that it sends a small one, because not all
// hosts answer.
func (e *exam) probe(p path) error {
	const small = 100
	if r, err := e.host.Route(p.peer.Addr()); err == nil && r.MTU > 0 && r.MTU < p.iface.MTU {
		return &tooSmall{true, fmt.Sprintf("the path carries packets of %d bytes, and interface %s has %d", r.MTU, p.ni.Interface, p.iface.MTU)}
	}
	if err := e.echo(p, small); err != nil {
		return err
	}
	err := e.echo(p, min(p.iface.MTU, longestPacket))
	if errors.Is(err, ErrTooLong) || errors.Is(err, ErrNoAnswer) {
		return &tooSmall{false, fmt.Sprintf("packets of %d bytes are answered, and those of %d, the MTU of interface %s, are not", small, p.iface.MTU, p.ni.Interface)}
	}
	return err
}

// echo tries twice, because any packet may be lost.
func (e *exam) echo(p path, size int) (err error) {
	for range 2 {
		if err = e.host.Echo(e.ctx, p.ni.NID.Addr(), p.peer.Addr(), size, e.opts.Timeout); !errors.Is(err, ErrNoAnswer) {
			break
		}
	}
	return err
}
