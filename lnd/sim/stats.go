package sim

// Stats counts what happened on a network.
type Stats struct {
	Events         uint64 `json:"events"`           // that the simulator processed
	Steps          uint64 `json:"steps"`            // of programs
	Sent           uint64 `json:"sent"`             // messages that programs sent
	SentBytes      uint64 `json:"sent_bytes"`       // Send.Size of these
	Copies         uint64 `json:"copies,omitempty"` // of multicasts, for their further receivers
	Delivered      uint64 `json:"delivered"`        // messages with which programs were stepped
	DeliveredBytes uint64 `json:"delivered_bytes"`  // Send.Size of these
	Lost           uint64 `json:"lost"`             // by the link's loss
	Duplicated     uint64 `json:"duplicated"`       // messages of which a second copy was sent
	Reordered      uint64 `json:"reordered"`        // held back
	Cut            uint64 `json:"cut"`              // by partitions and cuts
	Refused        uint64 `json:"refused"`          // the receiver was down
	InboxFull      uint64 `json:"inbox_full"`       // too many waited at the receiver
	NoNode         uint64 `json:"no_node"`          // to numbers that no node has
	Queued         int    `json:"queued"`           // events that are still to come
}
