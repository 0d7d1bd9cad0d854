package drivers

import (
	"encoding/json"
	"fmt"
	"strings"

	"ulnet/lnd"
)

// Status is the status of an NI: 'lnetctl net show' prints it, part by part.
type Status struct {
	Accept string `json:"accept,omitempty"` // mode of accepting connections
	// SourceAddress says whether a peer's NID must match its IP address.
	SourceAddress string `json:"source_address,omitempty"`
	Provider      string `json:"provider,omitempty"` // provider of RDMA of the NI's device
	Listen        string `json:"listen,omitempty"`   // address:port of the listener; empty: there is none
	Connections   int    `json:"connections"`        // number of established connections
	Handshakes    int    `json:"handshakes"`         // number of connections that are not established yet
	// Reasons are the numbers of refused connections, ended connections and dropped messages, by
	// reason, without reasons that did not occur.
	Reasons map[string]uint64 `json:"reasons"`
	// Tunables are the driver's tunables in force, as a JSON object.
	Tunables  json.RawMessage `json:"tunables"`
	Multicast *Multicast      `json:"multicast,omitempty"` // nil: the NI has no multicast
	Verbs     *Verbs          `json:"verbs,omitempty"`     // nil: the NI is not on RDMA
}

// Multicast is the state of an NI's multicast. Package lnet has the groups that were joined.
type Multicast struct {
	Port uint16 `json:"port"` // UDP port of multicast
	lnd.MulticastLimits
	Sent          uint64 `json:"sent"`           // number of datagrams sent
	SentBytes     uint64 `json:"sent_bytes"`     // number of payload bytes sent
	Received      uint64 `json:"received"`       // number of datagrams received and accepted
	ReceivedBytes uint64 `json:"received_bytes"` // number of payload bytes received
	Missed        uint64 `json:"missed"`         // number of datagrams lost because the receive buffer was full
}

// document returns a JSON object with the tunables that names lists, in that order. See
// [Driver].Shown for the format of names. A tunable without a value is null.
func document(names string, inForce map[string]any) json.RawMessage {
	b := []byte("{")
	for i, name := range strings.Fields(names) {
		if i > 0 {
			b = append(b, ',')
		}
		name, shown, other := strings.Cut(name, "=")
		if !other {
			shown = name
		}
		value, ok := inForce[name]
		if !ok {
			value = "null"
		}
		b = fmt.Appendf(b, "%q:%v", shown, value)
	}
	return append(b, '}')
}

// reasons returns the counters that are not 0, by their words.
func reasons[R fmt.Stringer](all []R, count func(R) uint64) map[string]uint64 {
	m := map[string]uint64{}
	for _, r := range all {
		if n := count(r); n > 0 {
			m[r.String()] = n
		}
	}
	return m
}
