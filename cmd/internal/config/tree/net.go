package tree

import (
	"ulnet/cmd/internal/drivers"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// Loopback is the network that every node has.
const Loopback = "lo"

// Net is a network of the node. The keys of the types below are those of Lustre's lnetctl, except
// for those marked "ours".
type Net struct {
	Type string `json:"net type"`              // such as tcp1
	NIs  []NI   `json:"local NI(s),omitempty"` // of this node
}

// NI is a local NI. An export has either its NID or, for a backup, the interfaces from which the
// NID is made again.
type NI struct {
	NID           nid.NID           `json:"nid,omitzero"`             // its NID
	Status        string            `json:"status,omitempty"`         // up or down
	Cause         string            `json:"cause,omitempty"`          // ours: of status down
	For           string            `json:"for,omitempty"`            // ours: since the status changed, as 12s
	Interfaces    Interfaces        `json:"interfaces,omitempty"`     // on which it runs
	Accept        string            `json:"accept,omitempty"`         // ours: accept mode
	SourceAddress string            `json:"source_address,omitempty"` // ours: check or off
	Provider      string            `json:"provider,omitempty"`       // ours: of RDMA
	Listen        string            `json:"listen,omitempty"`         // ours: address and port
	SourceCheck   string            `json:"source_check,omitempty"`   // ours: only off is shown
	Statistics    *Statistics       `json:"statistics,omitempty"`     // messages
	UDSP          *Priorities       `json:"udsp info,omitempty"`      // what selection rules say
	Sent          *lnet.TypeCounts  `json:"sent_stats,omitempty"`     // messages by type
	Received      *lnet.TypeCounts  `json:"received_stats,omitempty"` // messages by type
	Dropped       *lnet.TypeCounts  `json:"dropped_stats,omitempty"`  // messages by type
	Health        *HealthStats      `json:"health stats,omitempty"`   // health and failures
	Tunables      *Tunables         `json:"tunables,omitempty"`       // of all drivers
	LND           LNDTunables       `json:"lnd tunables,omitempty"`   // of the driver
	Multicast     *Multicast        `json:"multicast,omitempty"`      // ours
	DevCPT        *int              `json:"dev cpt,omitempty"`        // CPU partition of the device; -1: none
	CPT           string            `json:"CPT,omitempty"`            // CPU partitions, as [0,1]
	Verbs         *drivers.Verbs    `json:"verbs,omitempty"`          // ours: the device of RDMA
	Connections   *int              `json:"connections,omitempty"`    // ours
	Reasons       map[string]uint64 `json:"reasons,omitempty"`        // ours: why connections were refused or ended
	// ByAddress: the NID is not the one that is made of the interface, so that a backup needs it.
	ByAddress bool `json:"-"`
}

// Statistics are the messages of an NI.
type Statistics struct {
	Send uint64 `json:"send_count"` // messages sent
	Recv uint64 `json:"recv_count"` // messages received
	Drop uint64 `json:"drop_count"` // messages dropped
}

// Tunables are those that all drivers have. Nil fields are not set.
type Tunables struct {
	PeerTimeout       *int `json:"peer_timeout,omitempty"`        // seconds
	PeerCredits       *int `json:"peer_credits,omitempty"`        // messages in flight to a peer
	PeerBufferCredits *int `json:"peer_buffer_credits,omitempty"` // messages of a peer that wait for router buffers
	Credits           *int `json:"credits,omitempty"`             // messages in flight of the NI
}

// HealthStats are the health and the failures of a local NI.
type HealthStats struct {
	FatalError int    `json:"fatal_error"`  // 1: no link
	Value      int    `json:"health value"` // 0 to 1000
	Interrupts uint64 `json:"interrupts"`   // failures of sends that were interrupted
	Dropped    uint64 `json:"dropped"`      // failures of sends that the driver dropped
	Aborted    uint64 `json:"aborted"`      // failures of sends that were cancelled
	NoRoute    uint64 `json:"no route"`     // failures of sends without a way
	Timeouts   uint64 `json:"timeouts"`     // failures of sends that took too long
	Error      uint64 `json:"error"`        // other failures
	PingCount  int    `json:"ping_count"`   // recovery pings so far
	NextPing   int    `json:"next_ping"`    // seconds from now; 0: none
}

// Priorities are what selection rules say of an NI.
type Priorities struct {
	Net     int64    `json:"net priority"`                   // -1: no rule
	NID     int64    `json:"nid priority"`                   // -1: no rule
	Locals  []string `json:"preferred local nids,omitempty"` // ours
	Routers []string `json:"preferred routers,omitempty"`    // ours
}

// Multicast is the multicast of an NI. It is ours.
type Multicast struct {
	Groups []lnet.GroupSnapshot `json:"groups,omitempty"` // that were joined
	*drivers.Multicast
}

// backup returns the NIs without counters and states. The time-out of a driver follows from the
// settings of the node.
func (n Net) backup() Net {
	b := Net{Type: n.Type}
	for _, ni := range n.NIs {
		one := NI{Interfaces: ni.Interfaces, Tunables: ni.Tunables, LND: ni.LND.without("timeout"), CPT: ni.CPT}
		if ni.ByAddress || len(one.Interfaces) == 0 {
			one.NID, one.Interfaces = ni.NID, nil
		}
		b.NIs = append(b.NIs, one)
	}
	return b
}
