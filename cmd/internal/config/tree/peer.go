package tree

import (
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// Peer is a peer and its NIs.
type Peer struct {
	Primary   nid.NID         `json:"primary nid,omitzero"` // NID by which the peer is known
	MultiRail bool            `json:"Multi-Rail"`           // it takes part in discovery
	State     *lnet.PeerFlags `json:"peer state,omitempty"` // what discovery knows, as Lustre's bits
	NIs       []PeerNI        `json:"peer ni,omitempty"`    // its NIs
	Claimed   []ClaimedNI     `json:"claimed ni,omitempty"` // ours: what it lists and what is not known to be its own
}

// PeerNI is an NI of a peer.
type PeerNI struct {
	NID        nid.NID          `json:"nid"`                 // its NID
	UDSP       *Priorities      `json:"udsp info,omitempty"` // what selection rules say
	State      string           `json:"state,omitempty"`     // up, down, NA
	Cause      string           `json:"cause,omitempty"`     // ours: of state down
	*Credits                    // with -v
	Statistics *Statistics      `json:"statistics,omitempty"`     // messages
	Sent       *lnet.TypeCounts `json:"sent_stats,omitempty"`     // messages by type
	Received   *lnet.TypeCounts `json:"received_stats,omitempty"` // messages by type
	Dropped    *lnet.TypeCounts `json:"dropped_stats,omitempty"`  // messages by type
	Health     *PeerHealthStats `json:"health stats,omitempty"`   // health and failures
}

// Credits are the credits of a peer's NI.
type Credits struct {
	Max             int `json:"max_ni_tx_credits"`     // all of them
	Available       int `json:"available_tx_credits"`  // now; negative: so many messages wait
	Min             int `json:"min_tx_credits"`        // fewest so far
	QueuedBytes     int `json:"tx_q_num_of_buf"`       // bytes of messages that wait
	AvailableRouter int `json:"available_rtr_credits"` // without a router those for sending
	MinRouter       int `json:"min_rtr_credits"`       // fewest so far
	References      int `json:"refcount"`              // 1 and a message each
}

// PeerHealthStats are the health and the failures of a peer's NI.
type PeerHealthStats struct {
	Value          int    `json:"health value"`    // 0 to 1000
	Dropped        uint64 `json:"dropped"`         // messages that the peer dropped
	Timeout        uint64 `json:"timeout"`         // messages without an answer in time
	Error          uint64 `json:"error"`           // other failures
	NetworkTimeout uint64 `json:"network timeout"` // messages that the network did not deliver in time
	PingCount      int    `json:"ping_count"`      // recovery pings so far
	NextPing       int    `json:"next_ping"`       // seconds from now; 0: none
}

// ClaimedNI is an NI that a peer says it has.
type ClaimedNI struct {
	NID nid.NID `json:"nid"` // its NID
}

// isConfigured reports whether an administrator named the peer. Without a state it is not known,
// and the file itself is what an administrator says.
func (p *Peer) isConfigured() bool { return p.State == nil || p.State.Has(lnet.PeerConfigured) }

// backup returns the peer without counters and states.
func (p Peer) backup() Peer {
	b := Peer{Primary: p.Primary, MultiRail: p.MultiRail}
	for _, ni := range p.NIs {
		b.NIs = append(b.NIs, PeerNI{NID: ni.NID})
	}
	return b
}
