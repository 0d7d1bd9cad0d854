package node

import (
	"encoding/json"
	"math"
	"time"

	"ulnet/cmd/internal/config/tree"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/recovery"
	"ulnet/lnet/udsp"
)

// RulesLevel is the level of detail from which on NIs are shown with the selection rules that
// apply to them.
const RulesLevel = 4

// noCPT means that a device has no CPU partition.
const noCPT = -1

// NetTree returns the NIs by net, in the order in which the nets were started. The level is the
// level of detail, as in 'lnetctl net show -v'. Lustre's tool does not have all the keys, see
// tree.NI.
func NetTree(s Status, level int, rules udsp.List) (nets []tree.Net) {
	index := map[string]int{}
	for _, ni := range s.NIs {
		i, ok := index[ni.Net]
		if !ok {
			i = len(nets)
			index[ni.Net] = i
			nets = append(nets, tree.Net{Type: ni.Net})
		}
		nets[i].NIs = append(nets[i].NIs, newNITree(ni, s, level, rules))
	}
	return nets
}

func newNITree(ni NIStatus, s Status, level int, rules udsp.List) tree.NI {
	doc := tree.NI{NID: ni.NID, Status: ni.Status, ByAddress: ni.ByAddress, StartedOn: ni.StartedOn}
	addOurs(&doc, ni, s, level)
	if ni.Interface != "" {
		doc.Interfaces = tree.Interfaces{ni.Interface}
	}
	if level >= 1 {
		doc.Statistics = newStatistics(ni.Traffic)
		addTunables(&doc, ni)
	}
	if level >= 2 {
		doc.Sent, doc.Received, doc.Dropped = &ni.Traffic.Sent, &ni.Traffic.Received, &ni.Traffic.Dropped
		doc.Health = newHealthStats(ni, s)
	}
	if level >= RulesLevel {
		own, net := rules.Local(ni.NID)
		doc.UDSP = &tree.Priorities{Net: priorityOf(net), NID: priorityOf(own)}
	}
	return doc
}

// addOurs adds the keys that Lustre's tool does not show.
func addOurs(doc *tree.NI, ni NIStatus, s Status, level int) {
	own := &ni.LND
	doc.Cause, doc.Accept, doc.SourceAddress, doc.Provider, doc.Listen = ni.Cause, own.Accept, own.SourceAddress, own.Provider, own.Listen
	if !s.SourceCheck && !ni.NID.IsLo() {
		doc.SourceCheck = "off"
	}
	has := own.Multicast
	if level < 1 {
		has = nil
	}
	if ni.Groups != nil || has != nil {
		doc.Multicast = &tree.Multicast{Groups: ni.Groups, Multicast: has}
	}
	if level >= 1 && ni.For > 0 {
		doc.For = ni.For.Truncate(time.Second).String()
	}
	if level >= 3 {
		doc.Verbs, doc.Reasons = own.Verbs, own.Reasons
		if own.Tunables != nil { // nil for 0@lo
			doc.Connections = &own.Connections
		}
	}
}

func newStatistics(t lnet.Traffic) *tree.Statistics {
	return &tree.Statistics{Send: t.Sent.Total(), Recv: t.Received.Total(), Drop: t.Dropped.Total()}
}

// addTunables adds the tunables in force. For 0@lo, Lustre's tool shows zeros.
func addTunables(doc *tree.NI, ni NIStatus) {
	t := ni.Tunables
	timeout, cpt := int(t.PeerTimeout.Seconds()), noCPT
	if ni.NID.IsLo() {
		timeout, t.PeerCredits, t.PeerBufferCredits, t.Credits, cpt = 0, 0, 0, 0, 0
	}
	doc.Tunables = &tree.Tunables{PeerTimeout: &timeout, PeerCredits: &t.PeerCredits, PeerBufferCredits: &t.PeerBufferCredits, Credits: &t.Credits}
	if ni.LND.Tunables != nil {
		_ = json.Unmarshal(ni.LND.Tunables, &doc.LND) // cannot fail, because package drivers made this JSON from an object
	}
	doc.DevCPT, doc.CPT = &cpt, ni.CPT
	if doc.CPT == "" {
		doc.CPT = "[0]" // what Lustre's tool shows on a machine with one CPU partition
	}
}

func newHealthStats(ni NIStatus, s Status) *tree.HealthStats {
	f := ni.Failures
	doc := &tree.HealthStats{
		Value: ni.NISnapshot.Health, Interrupts: f.LocalInterrupt, Dropped: f.LocalDropped, Aborted: f.LocalAborted,
		NoRoute: f.LocalNoRoute, Timeouts: f.LocalTimeout, Error: f.LocalError, FatalError: int(oneIf(ni.Fatal)),
	}
	doc.PingCount, doc.NextPing = nextPing(s.Recovery.Local, ni.NID, s.Clock)
	if ni.NID.IsLo() {
		doc.Value = 0 // Lustre's tool shows 0 for 0@lo
	}
	return doc
}

// nextPing returns how often an NI in recovery has been pinged, and in how many seconds the next
// ping is due.
func nextPing(list []recovery.Status, id nid.NID, now time.Duration) (count, seconds int) {
	for _, s := range list {
		if s.NID == id {
			return s.Count, int(math.Ceil(max(s.Next-now, 0).Seconds()))
		}
	}
	return 0, 0
}

func priorityOf(p path.Priority) int64 {
	if p == path.NoPriority {
		return -1
	}
	return int64(p)
}
