package drivers

import (
	"encoding/json"
	"fmt"
	"strings"

	"ulnet/lnd"
)

// Status is the status of an NI: 'lnetctl net show' prints it, part by part.
type Status struct {
	Accept string `json:"accept,omitempty"` // accept mode
	// SourceAddress says whether a peer's NID must have its address.
	SourceAddress string `json:"source_address,omitempty"`
	Provider      string `json:"provider,omitempty"` // of RDMA
	Listen        string `json:"listen,omitempty"`   // address:port, none without a listener
	Connections   int    `json:"connections"`        // established
	Handshakes    int    `json:"handshakes"`         // not yet
	// Reasons counts the reasons for which connections were refused or ended, and messages
	// dropped, without those that are 0.
	Reasons map[string]uint64 `json:"reasons"`
	// Tunables are what is in force of those of the driver, an object with its names.
	Tunables  json.RawMessage `json:"tunables"`
	Multicast *Multicast      `json:"multicast,omitempty"` // nil: the NI has none
	Verbs     *Verbs          `json:"verbs,omitempty"`     // over RDMA
}

// Multicast is the multicast of an NI. lnet has the groups that were joined.
type Multicast struct {
	Port uint16 `json:"port"` // UDP
	lnd.MulticastLimits
	Sent          uint64 `json:"sent"`           // datagrams
	SentBytes     uint64 `json:"sent_bytes"`     // of payload
	Received      uint64 `json:"received"`       // those that were believed
	ReceivedBytes uint64 `json:"received_bytes"` // of payload
	Missed        uint64 `json:"missed"`         // found the receive buffer full
}

// document returns the tunables of names, in their order, as a JSON object. A name that is
// shown otherwise is followed by = and that.
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
		b = fmt.Appendf(b, "%q:%v", shown, inForce[name])
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
