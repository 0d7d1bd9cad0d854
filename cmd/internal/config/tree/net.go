package tree

import (
	"ulnet/cmd/internal/drivers"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// Loopback is the network that every node has.
const Loopback = "lo"

// Net is a network of the node. The keys of the types below are those of Lustre's lnetctl, except
// for those marked "ulnet's addition".
type Net struct {
	Type string `json:"net type"`              // name of the network, such as tcp1
	NIs  []NI   `json:"local NI(s),omitempty"` // NIs of this node on the network
}

// NI is a local NI. An export has either its NID or, for a backup, the interfaces from which the
// NID is made again.
type NI struct {
	NID           nid.NID           `json:"nid,omitzero"`             // NID of the NI
	Status        string            `json:"status,omitempty"`         // up or down
	Cause         string            `json:"cause,omitempty"`          // ulnet's addition: reason of status down
	For           string            `json:"for,omitempty"`            // ulnet's addition: time since the status changed, such as 12s
	Interfaces    Interfaces        `json:"interfaces,omitempty"`     // interfaces on which the NI runs
	Accept        string            `json:"accept,omitempty"`         // ulnet's addition: accept mode
	SourceAddress string            `json:"source_address,omitempty"` // ulnet's addition: check or off
	Provider      string            `json:"provider,omitempty"`       // ulnet's addition: provider of RDMA
	Listen        string            `json:"listen,omitempty"`         // ulnet's addition: address and port of the listener
	SourceCheck   string            `json:"source_check,omitempty"`   // ulnet's addition: off; absent: messages are checked
	Statistics    *Statistics       `json:"statistics,omitempty"`     // numbers of messages
	UDSP          *Priorities       `json:"udsp info,omitempty"`      // priorities and preferences by selection rules
	Sent          *lnet.TypeCounts  `json:"sent_stats,omitempty"`     // messages sent, by type
	Received      *lnet.TypeCounts  `json:"received_stats,omitempty"` // messages received, by type
	Dropped       *lnet.TypeCounts  `json:"dropped_stats,omitempty"`  // messages dropped, by type
	Health        *HealthStats      `json:"health stats,omitempty"`   // health and failures
	Tunables      *Tunables         `json:"tunables,omitempty"`       // tunables that all drivers have
	LND           LNDTunables       `json:"lnd tunables,omitempty"`   // tunables of the NI's driver
	Multicast     *Multicast        `json:"multicast,omitempty"`      // ulnet's addition: multicast of the NI
	DevCPT        *int              `json:"dev cpt,omitempty"`        // CPU partition of the device; -1: none
	CPT           string            `json:"CPT,omitempty"`            // CPU partitions, such as [0,1]
	Verbs         *drivers.Verbs    `json:"verbs,omitempty"`          // ulnet's addition: state of the RDMA device
	Connections   *int              `json:"connections,omitempty"`    // ulnet's addition: number of connections
	Reasons       map[string]uint64 `json:"reasons,omitempty"`        // ulnet's addition: why connections were refused or ended
	// ByAddress means that the NID does not follow from the interface, so that a backup must
	// contain the NID.
	ByAddress bool `json:"-"`
	// StartedOn is the name of the interface, or the address, with which a running NI was started; "": neither.
	StartedOn string `json:"-"`
}

// Statistics are numbers of an NI's messages.
type Statistics struct {
	Send uint64 `json:"send_count"` // messages sent
	Recv uint64 `json:"recv_count"` // messages received
	Drop uint64 `json:"drop_count"` // messages dropped
}

// Tunables are those that all drivers have. A nil field is not set.
type Tunables struct {
	PeerTimeout       *int `json:"peer_timeout,omitempty"`        // seconds
	PeerCredits       *int `json:"peer_credits,omitempty"`        // messages in flight to a peer
	PeerBufferCredits *int `json:"peer_buffer_credits,omitempty"` // messages of a peer that are forwarded at a time
	Credits           *int `json:"credits,omitempty"`             // messages in flight of the NI
}

// HealthStats are the health and the failures of a local NI.
type HealthStats struct {
	FatalError int    `json:"fatal_error"`  // 1: the interface has no link
	Value      int    `json:"health value"` // health from 0 to 1000
	Interrupts uint64 `json:"interrupts"`   // failures of sends that were interrupted
	Dropped    uint64 `json:"dropped"`      // failures of sends that the driver dropped
	Aborted    uint64 `json:"aborted"`      // failures of sends that were canceled
	NoRoute    uint64 `json:"no route"`     // failures of sends for which no route was found
	Timeouts   uint64 `json:"timeouts"`     // failures of sends that took too long
	Error      uint64 `json:"error"`        // other failures
	PingCount  int    `json:"ping_count"`   // recovery pings so far
	NextPing   int    `json:"next_ping"`    // time until the next ping in seconds; 0: none is due
}

// Priorities are the priorities of an NI by the selection rules.
type Priorities struct {
	Net     int64    `json:"net priority"`                   // priority of the net by rules; -1: no rule
	NID     int64    `json:"nid priority"`                   // priority of the NID by rules; -1: no rule
	Locals  []string `json:"preferred local nids,omitempty"` // ulnet's addition: local NIDs that rules prefer
	Routers []string `json:"preferred routers,omitempty"`    // ulnet's addition: routers that rules prefer
}

// Multicast is the multicast of an NI. Lustre's tool does not have it.
type Multicast struct {
	Groups []lnet.GroupSnapshot `json:"groups,omitempty"` // groups that the NI has joined
	*drivers.Multicast
}

// backup returns the NIs without counters and states. It also leaves out the timeout of the
// driver, which follows from the settings of the node.
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
