package doctor

import (
	"errors"
	"fmt"
	"syscall"

	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// reach pings every peer from every NI on its network.
func (e *exam) reach() {
	if !e.needsNode() {
		return
	}
	answers := map[nid.NID][2]int{} // by peer: NIs that had an answer, and NIs that had none
	var order []nid.NID
	for _, ni := range e.nis() {
		e.source(ni)
		peers, more := e.targets(ni)
		for _, p := range peers {
			a, known := answers[p]
			if !known {
				order = append(order, p)
			}
			if e.ping(ni, p) {
				a[0]++
			} else {
				a[1]++
			}
			answers[p] = a
		}
		if more > 0 {
			e.unknown(ni.NID, "name peers as arguments", "%d more peers were not pinged", more)
		}
	}
	e.judge(order, answers)
}

// ping asks a peer from one NI.
func (e *exam) ping(ni *node.NIStatus, peer nid.NID) bool {
	_, err := e.node.Ping(e.ctx, node.PingRequest{Target: nid.ProcessID{NID: peer, PID: nid.LustrePID}, Source: ni.NID, Timeout: 2 * e.opts.Timeout})
	if err == nil {
		return true
	}
	subject := fmt.Sprintf("%v → %v", ni.NID, peer)
	if e.dialsUs(ni, peer) {
		e.fail(subject, "see the firewall of the peer, and its routes back: packets of new connections do not reach it",
			"no answer (%v), and the peer has connections here that it dialled: it reaches this node, and is not reached", reason(err))
	} else {
		e.fail(subject, "is the node up, and LNet configured there? 'lnetctl net show -v 3' counts reasons; see its firewall and its accept", "no answer: %v", reason(err))
	}
	return false
}

// reason returns the errno of an error, which is shorter than its text.
func reason(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}

// dialsUs reports whether a peer has a connection to an NI that it has dialled.
func (e *exam) dialsUs(ni *node.NIStatus, peer nid.NID) bool {
	for _, p := range e.connections(ni) {
		if p.ID.NID != peer {
			continue
		}
		for _, c := range p.Conns {
			if !c.Dialed {
				return true
			}
		}
	}
	return false
}

func (e *exam) connections(ni *node.NIStatus) []drivers.Peer {
	list, err := e.node.Connections(e.ctx, ni.NID.Net().String())
	if err != nil {
		return nil
	}
	return list
}

// judge says which peers some NIs reach and others do not.
func (e *exam) judge(order []nid.NID, answers map[nid.NID][2]int) {
	if len(order) == 0 {
		e.unknown("", "name peers as arguments: 'lnetctl doctor NID...'", "the node has no peers on its networks yet")
	}
	good := 0
	for _, p := range order {
		switch a := answers[p]; {
		case a[1] == 0:
			good++
		case a[0] > 0:
			e.fail(p, "see the cables, VLANs and routes of the interfaces that have no answer; 'lnetctl net del' takes one out", "%d interfaces reach it, %d do not", a[0], a[1])
		}
	}
	if good > 0 {
		e.ok("", "%d peers answer all interfaces of their networks", good)
	}
}

// source looks whether packets to the peers of an NI would leave with its address, as the answers
// of the system itself do, such as those of TCP.
func (e *exam) source(ni *node.NIStatus) {
	peers, _ := e.targets(ni)
	for _, p := range peers {
		r, err := e.host.Route(p.Addr())
		if err != nil || !r.Source.IsValid() || r.Source == ni.NID.Addr() {
			continue
		}
		if name, strict := e.strict(ni); strict {
			e.fail(fmt.Sprintf("%v → %v", ni.NID, p), fmt.Sprintf("sysctl net.ipv4.conf.%s.rp_filter=2, or rules by source address: ip rule add from %v table N", name, ni.NID.Addr()),
				"the system's route to the peer leaves from %v, and rp_filter of %s is strict: packets to %v are dropped", r.Source, name, ni.NID)
			return
		}
	}
}

// strict reports whether the interface of an NI drops packets that come by another way than the
// route back (rp_filter 1; the greater value of all and the interface counts).
func (e *exam) strict(ni *node.NIStatus) (string, bool) {
	most := 0
	for _, name := range []string{"all", ni.Interface} {
		var v int
		if s, err := e.host.Sysctl("net.ipv4.conf." + name + ".rp_filter"); err == nil {
			_, _ = fmt.Sscan(s, &v) // what is no number stays 0
		}
		most = max(most, v)
	}
	return ni.Interface, most == 1
}

// credits looks for messages that wait, or waited, for credits.
func (e *exam) credits() {
	if !e.needsNode() {
		return
	}
	for _, ni := range e.nis() {
		switch {
		case ni.Credits < 0:
			e.fail(ni.NID, "raise credits, or see the peers below: one that takes nothing holds them", "%d messages wait for a credit of the interface now", -ni.Credits)
		case ni.MinCredits < 0:
			e.warn(ni.NID, fmt.Sprintf("raise credits above %d if this is usual", ni.Tunables.Credits), "up to %d messages waited for a credit of the interface", -ni.MinCredits)
		default:
			e.ok(ni.NID, "%d of %d free, never fewer than %d", ni.Credits, ni.Tunables.Credits, ni.MinCredits)
		}
		if n := ni.LND.Reasons["credit_timeout"]; n > 0 {
			e.fail(ni.NID, "see why the peers do not give credits back: they are overloaded, or stopped", "%d messages waited too long for credits of RDMA", n)
		}
		if v := ni.LND.Verbs; v != nil && v.Receives.Empty > 0 {
			e.warn(ni.NID, "raise o2ib.rx_buffers", "%d packets found no receive buffer and came again", v.Receives.Empty)
		}
	}
	e.peerCredits()
}

func (e *exam) peerCredits() {
	var now, before []string
	for _, p := range e.peers {
		if p.Queued > 0 && p.Credits <= 0 {
			now = append(now, fmt.Sprintf("%v (%d messages)", p.NID, p.Queued))
		} else if p.MinCredits < 0 {
			before = append(before, fmt.Sprintf("%v (up to %d messages)", p.NID, -p.MinCredits))
		}
	}
	if len(now) > 0 {
		e.fail("peers", "is the peer overloaded, or stopped? 'lnetctl peer show -v 4' has its queue", "messages wait for credits of %s", few(now))
	}
	if len(before) > 0 {
		e.warn("peers", "raise peer_credits here and there if this is usual", "messages waited for credits of %s", few(before))
	}
}

// tunables looks for settings that peers do not share.
func (e *exam) tunables() {
	if !e.needsNode() {
		return
	}
	for _, ni := range e.nis() {
		if ni.LND.Verbs != nil {
			e.negotiated(ni)
		} else if n := ni.LND.Reasons["bad_checksum"]; n > 0 {
			e.warn(ni.NID, "see enable_csum of the peers, and their memory and interfaces", "%d messages had a wrong checksum", n)
		}
	}
	e.digests()
}

// negotiationReasons are what a peer of o2iblnd with other settings leaves behind.
var negotiationReasons = []struct{ reason, seen string }{
	{"refused_depth", "%d requests for longer queues than peer_credits allows were refused"},
	{"rejected_depth", "%d requests were refused, because the peer has shorter queues (peer_credits)"},
	{"refused_frags", "%d requests for more fragments than a transfer may have here were refused"},
	{"rejected_frags", "%d requests were refused, because the peer takes fewer fragments (map_on_demand)"},
	{"refused_size", "%d requests for longer messages were refused"},
	{"rejected_mtu", "%d requests were refused, because the interface of the peer has a smaller MTU"},
	{"rejected_version", "%d requests were refused, because the peer speaks only version 1"},
}

// negotiated looks at what o2iblnd has agreed upon with its peers.
func (e *exam) negotiated(ni *node.NIStatus) {
	const next = "give all nodes the same peer_credits, map_on_demand and MTU: the smaller value is used, after a connection that fails"
	before := len(e.found)
	for _, r := range negotiationReasons {
		if n := ni.LND.Reasons[r.reason]; n > 0 {
			e.warn(ni.NID, next, r.seen, n)
		}
	}
	var shorter []string
	for _, p := range e.connections(ni) {
		for _, c := range p.Conns {
			if c.QueueDepth > 0 && c.QueueDepth < ni.Tunables.PeerCredits {
				shorter = append(shorter, fmt.Sprintf("%v (%d)", p.ID.NID, c.QueueDepth))
				break
			}
		}
	}
	if len(shorter) > 0 {
		e.warn(ni.NID, next, "queues are shorter than peer_credits, %d, to %s", ni.Tunables.PeerCredits, few(shorter))
	}
	if len(e.found) == before {
		e.ok(ni.NID, "peers agree to peer_credits %d", ni.Tunables.PeerCredits)
	}
}

// digests compares the configurations of the members of a group.
func (e *exam) digests() {
	if e.opts.Group == "" {
		return
	}
	subject := "group " + e.opts.Group
	members, err := e.node.Members(e.ctx, e.opts.Group)
	if err != nil {
		e.unknown(subject, "see 'scollctl status'", "%v", err)
		return
	}
	most, of := "", map[string][]string{}
	for _, m := range members {
		of[m.Digest] = append(of[m.Digest], m.NID.String())
		if n := len(of[m.Digest]) - len(of[most]); n > 0 || n == 0 && m.Digest < most {
			most = m.Digest
		}
	}
	if len(of) <= 1 {
		e.ok(subject, "%d members have the same configuration", len(members))
		return
	}
	var others []string
	for _, m := range members {
		if m.Digest != most {
			others = append(others, m.NID.String())
		}
	}
	e.warn(subject, "compare 'lnetctl export' of these nodes with that of another one; after intended differences there is nothing to do", "%d members have one configuration, another one have %s", len(of[most]), few(others))
}

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
