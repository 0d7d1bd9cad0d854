package sim

// Stats counts what happened on a network.
type Stats struct {
	Events         uint64 `json:"events"`           // events that the simulator processed
	Steps          uint64 `json:"steps"`            // steps of programs
	Sent           uint64 `json:"sent"`             // messages that programs sent
	SentBytes      uint64 `json:"sent_bytes"`       // sum of Send.Size over the messages sent
	Copies         uint64 `json:"copies,omitempty"` // copies of multicasts for receivers after the first
	Delivered      uint64 `json:"delivered"`        // messages with which programs were stepped
	DeliveredBytes uint64 `json:"delivered_bytes"`  // sum of Send.Size over the messages delivered
	Lost           uint64 `json:"lost"`             // messages that a link lost
	Duplicated     uint64 `json:"duplicated"`       // messages of which a second copy was sent
	// messages that were held back, so that later ones overtake them
	Reordered uint64 `json:"reordered"`
	Cut       uint64 `json:"cut"`        // messages that partitions and cuts stopped
	Refused   uint64 `json:"refused"`    // messages whose receiver was down
	InboxFull uint64 `json:"inbox_full"` // messages dropped because too many waited at the receiver
	NoNode    uint64 `json:"no_node"`    // messages to numbers that no node has
	Queued    int    `json:"queued"`     // events that are still to come
}
