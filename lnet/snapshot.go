package lnet

import (
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Snapshot is a copy of a node's state for people and exporters.
type Snapshot struct {
	PID   nid.PID        `json:"pid"`        // process id of the node
	NIs   []NISnapshot   `json:"nis"`        // NIs in the order in which they were configured
	Peers []PeerSnapshot `json:"peers"`      // peer NIs, ordered by NID
	Nodes []Peer         `json:"nodes"`      // nodes that discovery knows, ordered by primary NID
	Stats Stats          `json:"statistics"` // counters of all NIs, removed ones included
}

// NISnapshot is the state of one NI.
type NISnapshot struct {
	NID        nid.NID         `json:"nid"`                 // NID of the NI
	Net        string          `json:"net"`                 // net of the NI, such as "tcp1"
	Interface  string          `json:"interface,omitempty"` // name of the network interface, such as "eth0"
	Status     string          `json:"status"`              // up or down, as peers are told
	Cause      string          `json:"cause,omitempty"`     // cause of the status down
	Fatal      bool            `json:"fatal,omitempty"`     // the link is down: nothing is sent by the NI
	For        time.Duration   `json:"for,omitempty"`       // time since the link last changed; 0: it never did
	Tunables   lnd.Tunables    `json:"tunables"`            // tunables in force
	Credits    int             `json:"credits"`             // free credits; negative: so many messages wait for one
	MinCredits int             `json:"min_credits"`         // lowest Credits so far
	Traffic    Traffic         `json:"statistics"`          // counters since the NI was added
	PeerCount  int             `json:"peers"`               // number of peers that the NI reaches
	Groups     []GroupSnapshot `json:"groups,omitempty"`    // groups that were joined, ordered by number
	Health     int             `json:"health"`              // health of the NI, 0 to 1000
	Failures   FailureStats    `json:"failures"`            // failures of messages that the NI sent or received
	Lower      lnd.NI          `json:"-"`                   // the driver's NI, for the driver's own snapshot
}

// PeerSnapshot is one peer NI's state. The credit names are the kernel's;
// negative credits are messages that wait for one.
type PeerSnapshot struct {
	NID        nid.NID `json:"nid"`                  // NID of the peer
	Via        nid.NID `json:"via"`                  // NID of the local NI
	Primary    nid.NID `json:"primary"`              // primary NID of the node; NID itself if nothing else is known
	State      string  `json:"state"`                // state of the peer: "up", "down" or "NA"
	Cause      string  `json:"cause,omitempty"`      // cause of the state down
	MaxCredits int     `json:"max_ni_tx_credits"`    // value of the tunable peer_credits of the NI
	Credits    int     `json:"available_tx_credits"` // free credits; negative: so many messages wait for one
	MinCredits int     `json:"min_tx_credits"`       // lowest Credits so far
	// RouterMaxCredits is how many messages of the peer this node may be forwarding at a time.
	RouterMaxCredits int     `json:"max_rtr_credits"`
	RouterCredits    int     `json:"available_rtr_credits"` // free router credits; negative: so many messages wait for one
	RouterMinCredits int     `json:"min_rtr_credits"`       // lowest RouterCredits so far
	QueuedBytes      int     `json:"tx_q_num_of_buf"`       // bytes of headers and payloads of messages with a credit
	Queued           int     `json:"queued_messages"`       // messages that wait for a credit
	Parked           int     `json:"parked_messages"`       // messages that wait for discovery
	Traffic          Traffic `json:"statistics"`            // counters since the peer was first seen

	Health   int          `json:"health"`   // health of the NID, 0 to 1000
	Failures FailureStats `json:"failures"` // failures of messages to the NID and from it
}

// Snapshot returns a copy of the node's state. Counters are read one by one, so figures of a
// busy node need not agree exactly.
func (n *Node) Snapshot() Snapshot {
	s := n.Overview()
	page := pageOf(n.peers.all(), n.peers.nodes(), func(nid.NID) bool { return true })
	s.Peers, s.Nodes = page.Peers, page.Nodes
	return s
}

// Overview is a Snapshot without Peers and Nodes, which may be many: see
// PeersAfter.
func (n *Node) Overview() Snapshot {
	s := Snapshot{PID: n.cfg.PID, Stats: n.Stats()}
	perNI := n.peers.count()
	for _, ni := range n.NIs() {
		s.NIs = append(s.NIs, ni.snapshot(perNI[ni]))
	}
	return s
}

// Stats returns the node's counters.
func (n *Node) Stats() Stats {
	total := n.Traffic()
	alloc := n.inFlight.now.Load()
	for _, p := range n.peers.all() {
		p.mu.Lock()
		buffered, _ := p.buffered()
		p.mu.Unlock()
		alloc += int64(buffered)
	}
	return Stats{
		MsgsAlloc: uint64(alloc), MsgsMax: uint64(max(alloc, n.inFlight.most.Load())),
		Errors:    n.errors.Load(),
		SendCount: total.Sent.Total() - total.RoutedOut.Count, SendLength: total.SendLength - total.RoutedOut.Length,
		SendRefused: n.backlog.refused.Load() + n.answers.refused.Load(), ResponseTimeouts: n.unanswered.Load(),
		RecvCount: total.Received.Total() - total.RoutedIn.Count, RecvLength: total.RecvLength - total.RoutedIn.Length,
		RouteCount: n.forward.routed.Load(), RouteLength: n.forward.length.Load(),
		DropCount: total.Dropped.Total(), DropLength: total.DropLength,
		DropReasons: n.drops.snapshot(), FailureStats: n.state.stats(),
	}
}

// Traffic returns the traffic of all NIs, past and present.
func (n *Node) Traffic() Traffic {
	n.mu.Lock()
	defer n.mu.Unlock()
	total := n.retired
	for _, ni := range *n.nis.Load() {
		total.add(ni.traffic.snapshot())
	}
	for _, ni := range n.leaving {
		total.add(ni.traffic.snapshot())
	}
	return total
}

func (ni *NI) snapshot(peers int) NISnapshot {
	groups := ni.groupSnapshot()
	ni.mu.Lock()
	defer ni.mu.Unlock()
	s := NISnapshot{
		NID: ni.nid, Net: ni.cfg.Net.String(), Interface: ni.cfg.Interface, Status: ni.Status().String(),
		Tunables: ni.cfg.Tunables, Credits: ni.tx.free() - ni.tx.wanted, MinCredits: ni.tx.lowest,
		Traffic: ni.traffic.snapshot(), PeerCount: peers, Groups: groups, Health: ni.rail.Health(), Failures: ni.failures.snapshot(), Lower: ni.lower,
	}
	link := ni.Link()
	if link.Changed != 0 {
		s.For = ni.node.cfg.Clock.Now() - link.Changed
	}
	switch {
	case link.Down:
		s.Fatal, s.Cause = true, link.Err.Error()
	case s.Status != wire.StatusUp.String():
		s.Cause = "this router has heard no other node on the net for long"
	}
	return s
}

func (p *peerNI) snapshot() PeerSnapshot {
	limit, left, lowest := p.routerCredits()
	p.mu.Lock()
	defer p.mu.Unlock()
	_, buffered := p.buffered()
	s := PeerSnapshot{
		RouterMaxCredits: limit, RouterCredits: left, RouterMinCredits: lowest,
		NID: p.nid, Via: p.ni.nid, Primary: p.primary(), State: p.state.String(), Parked: p.parked.Len(),
		MaxCredits: p.ni.cfg.Tunables.PeerCredits, Credits: p.credits - p.queue.Len(), MinCredits: p.minCredits,
		QueuedBytes: p.queuedBytes + buffered, Queued: p.queue.Len(), Traffic: p.traffic.snapshot(),
		Health: p.remote.Health(), Failures: p.remote.failures.Load().snapshot(),
	}
	if p.cause != nil {
		s.Cause = p.cause.Error()
	}
	return s
}
