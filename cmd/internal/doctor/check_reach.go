package doctor

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// reach pings every peer from every NI on its network, several at a time.
func (e *exam) reach() {
	if !e.needsNode() {
		return
	}
	var asked []path
	for _, ni := range e.nis() {
		e.source(ni)
		peers, more := e.targets(ni)
		for _, p := range peers {
			asked = append(asked, path{ni: ni, peer: p})
		}
		if more > 0 {
			e.unknown(ni.NID, "name peers as arguments", "%d more peers were not pinged", more)
		}
	}
	errs := make([]error, len(asked))
	each(len(asked), func(i int) { errs[i] = e.ping(asked[i]) })
	if len(asked) > 0 || len(e.opts.Peers) == 0 {
		e.judge(asked, errs)
	}
	e.elsewhere()
}

// elsewhere pings the peers that the user has named and that are on no network of this node, by the
// way that LNet chooses.
func (e *exam) elsewhere() {
	var list []nid.NID
	for _, p := range e.opts.Peers {
		if !slices.ContainsFunc(e.nis(), func(ni *node.NIStatus) bool { return ni.NID.Net() == p.Net() }) {
			list = append(list, p)
		}
		if slices.ContainsFunc(e.nis(), func(ni *node.NIStatus) bool { return ni.NID == p }) {
			e.ok(p, "is this node")
		}
	}
	errs := make([]error, len(list))
	each(len(list), func(i int) { errs[i] = e.ping(path{ni: &node.NIStatus{}, peer: list[i]}) })
	for i, p := range list {
		switch err := errs[i]; {
		case err == nil:
			e.ok(p, "answers; it is on no network of this node, and the other checks do not look at it")
		case control.Denied(err):
			e.unknown(p, "run it as root, or as the user of lnetd", "pinging peers is not permitted")
		case errors.Is(err, errMute):
			e.unknown(p, "see whether lnetd still answers: 'lnetctl net show'", "%v", err)
		case e.ctx.Err() != nil && e.late(p):
		default:
			e.fail(p, fmt.Sprintf("is network %v missing here, or a route to it? 'lnetctl net show', 'lnetctl route show'", p.Net()),
				"this node has no interface on network %v, and there is no answer: %v", p.Net(), reason(err))
		}
	}
}

// ping asks a peer from one NI.
func (e *exam) ping(p path) error {
	_, err := e.node.Ping(e.ctx, node.PingRequest{Target: nid.ProcessID{NID: p.peer, PID: nid.LustrePID}, Source: p.ni.NID, Timeout: 2 * e.opts.Timeout})
	return err
}

// judge adds a finding for each ping without an answer, and for peers that only some NIs reach.
func (e *exam) judge(asked []path, errs []error) {
	if len(asked) == 0 {
		e.unknown("", "name peers as arguments: 'lnetctl doctor NID...'", "the node has no peers on its networks yet")
	}
	answers := map[nid.NID][2]int{} // for each peer, how many NIs had an answer, and how many had none
	var order []nid.NID
	for i, p := range asked {
		a, known := answers[p.peer]
		if !known {
			order = append(order, p.peer)
		}
		switch err := errs[i]; {
		case err == nil:
			a[0]++
		case control.Denied(err):
			e.unknown("", "run it as root, or as the user of lnetd", "pinging peers is not permitted")
			return
		case errors.Is(err, errMute):
			e.unknown(p, "see whether lnetd still answers: 'lnetctl net show'", "%v", err)
		case e.ctx.Err() != nil && e.late(p):
		default:
			a[1]++
			e.unreached(p, err)
		}
		answers[p.peer] = a
	}
	e.compare(order, answers)
}

// unreached adds the finding for a ping without an answer.
func (e *exam) unreached(p path, err error) {
	if e.dialsUs(p.ni, p.peer) {
		e.fail(p, "see the firewall of the peer, and its routes back: packets of new connections do not reach it",
			"no answer (%v), and the peer has connections here that it dialled: it reaches this node, and is not reached", reason(err))
		return
	}
	e.fail(p, "is the node up, and LNet configured there? 'lnetctl net show -v 3' counts reasons; see its firewall and its accept", "no answer: %v", reason(err))
}

// reason returns the errno of an error, which is shorter than its text.
func reason(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}

// dialsUs reports whether a peer has dialed a connection to an NI of this node.
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

// compare says which peers some NIs reach and others do not.
func (e *exam) compare(order []nid.NID, answers map[nid.NID][2]int) {
	good := 0
	for _, p := range order {
		switch a := answers[p]; {
		case a[0] > 0 && a[1] == 0:
			good++
		case a[0] > 0:
			e.fail(p, "see the cables, VLANs and routes of the interfaces that have no answer; 'lnetctl net del' takes one out", "%d interfaces reach it, %d do not", a[0], a[1])
		}
	}
	if good > 0 {
		e.ok("", "%d peers answer all interfaces of their networks", good)
	}
}

// source adds a failure for an NI if the host's route to one of its peers has another source address
// and the NI's interface filters strictly by reverse path: then the host drops the packets of that
// peer to the NI.
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

// strict reports whether the interface of an NI drops a packet if the route back to its source leaves by
// another interface: rp_filter is 1. The kernel uses the larger of two values, that for all interfaces and
// that for the interface.
func (e *exam) strict(ni *node.NIStatus) (string, bool) {
	most := 0
	for _, name := range []string{"all", ni.Interface} {
		var v int
		if s, err := e.host.Sysctl("net.ipv4.conf." + name + ".rp_filter"); err == nil {
			_, _ = fmt.Sscan(s, &v) // v stays 0 if s is no number
		}
		most = max(most, v)
	}
	return ni.Interface, most == 1
}
