package tree

import (
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// Peer is a peer and its NIs.
type Peer struct {
	Primary   nid.NID         `json:"primary nid,omitzero"` // NID by which the peer is known
	MultiRail bool            `json:"Multi-Rail"`           // the peer takes part in discovery
	State     *lnet.PeerFlags `json:"peer state,omitempty"` // state of discovery, as bits of Lustre
	NIs       []PeerNI        `json:"peer ni,omitempty"`    // NIs of the peer
	Claimed   []ClaimedNI     `json:"claimed ni,omitempty"` // ulnet's addition: NIs that the peer lists, but that are not confirmed to be its own
}

// PeerNI is an NI of a peer.
type PeerNI struct {
	NID        nid.NID          `json:"nid"`                 // NID of the NI
	UDSP       *Priorities      `json:"udsp info,omitempty"` // priorities and preferences by selection rules
	State      string           `json:"state,omitempty"`     // state such as up, down or NA
	Cause      string           `json:"cause,omitempty"`     // ulnet's addition: reason of state down
	*Credits                    // credits of the NI; shown with -v
	Statistics *Statistics      `json:"statistics,omitempty"`     // numbers of messages
	Sent       *lnet.TypeCounts `json:"sent_stats,omitempty"`     // messages sent, by type
	Received   *lnet.TypeCounts `json:"received_stats,omitempty"` // messages received, by type
	Dropped    *lnet.TypeCounts `json:"dropped_stats,omitempty"`  // messages dropped, by type
	Health     *PeerHealthStats `json:"health stats,omitempty"`   // health and failures
}

// Credits are the credits of a peer's NI.
type Credits struct {
	Max             int `json:"max_ni_tx_credits"`     // number of all credits
	Available       int `json:"available_tx_credits"`  // free credits; negative: number of messages that wait
	Min             int `json:"min_tx_credits"`        // smallest number of free credits so far
	QueuedBytes     int `json:"tx_q_num_of_buf"`       // bytes, with headers, of messages that the driver has
	AvailableRouter int `json:"available_rtr_credits"` // free router credits; of a node that is no router: as available_tx_credits
	MinRouter       int `json:"min_rtr_credits"`       // smallest number of free router credits so far
	References      int `json:"refcount"`              // 1, plus 1 for each message that is in flight or waits
}

// PeerHealthStats are the health and the failures of a peer's NI.
type PeerHealthStats struct {
	Value          int    `json:"health value"`    // health from 0 to 1000
	Dropped        uint64 `json:"dropped"`         // messages that the peer dropped
	Timeout        uint64 `json:"timeout"`         // messages without an answer in time
	Error          uint64 `json:"error"`           // other failures
	NetworkTimeout uint64 `json:"network timeout"` // messages that the network did not deliver in time
	PingCount      int    `json:"ping_count"`      // recovery pings so far
	NextPing       int    `json:"next_ping"`       // time until the next ping in seconds; 0: none is due
}

// ClaimedNI is an NI that the peer itself has reported.
type ClaimedNI struct {
	NID nid.NID `json:"nid"` // NID of the NI
}

// IsConfigured reports whether an administrator named the peer. If there is no state, the peer
// comes from a file that an administrator wrote.
func (p *Peer) IsConfigured() bool { return p.State == nil || p.State.Has(lnet.PeerConfigured) }

// backup returns the peer without counters and states.
func (p Peer) backup() Peer {
	b := Peer{Primary: p.Primary, MultiRail: p.MultiRail}
	for _, ni := range p.NIs {
		b.NIs = append(b.NIs, PeerNI{NID: ni.NID})
	}
	return b
}
