package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"syscall"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/cmd/internal/node"
)

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

// negotiationReasons are the counters of o2iblnd that rise if a peer has other settings.
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
	connected := 0
	for _, p := range e.connections(ni) {
		if len(p.Conns) > 0 {
			connected++
		}
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
		e.ok(ni.NID, "%d connected peers agree to peer_credits %d", connected, ni.Tunables.PeerCredits)
	}
}

// group names the group whose members are compared, for people.
func (e *exam) group() string { return "group " + cmp.Or(e.opts.Group, scoll.AllGroup) }

// members asks the members of the group. If no group was named and the node has no group of all servers,
// ok is false without a finding. For other errors members adds a finding.
func (e *exam) members() (list []Member, ok bool) {
	if !e.up {
		return nil, false
	}
	list, err := e.node.Members(e.ctx, cmp.Or(e.opts.Group, scoll.AllGroup))
	switch {
	case err == nil:
		return list, true
	case e.opts.Group == "" && (errors.Is(err, ErrNoGroups) || errors.Is(err, syscall.ENOENT)):
	case e.late(e.group()):
	case control.Denied(err):
		e.unknown(e.group(), "run it as root, or as the user of lnetd", "asking the members is not permitted")
	default:
		e.unknown(e.group(), "see 'scollctl status'", "%v", err)
	}
	return nil, false
}

// reported returns the members for which has returns true, and adds a finding about the others. The argument what
// names what these have not reported, and next says how to ask for it again.
func (e *exam) reported(members []Member, has func(*Member) bool, what, next string) (list []Member) {
	var silent []string
	for i := range members {
		if has(&members[i]) {
			list = append(list, members[i])
		} else {
			silent = append(silent, members[i].NID.String())
		}
	}
	if len(silent) > 0 {
		e.unknown(e.group(), next, "%s have not reported their %s", few(silent), what)
	}
	return list
}

// digests compares the configurations of the members of a group.
func (e *exam) digests() {
	members, ok := e.members()
	if !ok {
		return
	}
	members = e.reported(members, func(m *Member) bool { return m.Digest != "" }, "configuration", "see 'scollctl config'")
	if len(members) == 0 {
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
		e.ok(e.group(), "%d members have the same configuration", len(members))
		return
	}
	var others []string
	for _, m := range members {
		if m.Digest != most {
			others = append(others, m.NID.String())
		}
	}
	e.warn(e.group(), "compare 'lnetctl export' of these nodes with that of another one; after intended differences there is nothing to do", "%d members have one configuration, another one have %s", len(of[most]), few(others))
}
