package main

import "ulnet/cmd/internal/node"

// verbsDoc is what the device of an NI on RDMA is, and what goes on there.
type verbsDoc struct {
	GUID       string            `json:"guid"`
	MTU        int               `json:"mtu"`
	Peers      int               `json:"peers"`
	Handshakes int               `json:"handshakes"`
	Pending    int               `json:"pending"` // messages that wait for a connection
	Receives   node.O2IBReceives `json:"receives"`
	Counters   map[string]uint64 `json:"counters,omitempty"`
}

func newVerbsDoc(s *node.O2iblnd) *verbsDoc {
	return &verbsDoc{s.Device.GUID, s.Device.MTU, s.Peers, s.Handshakes, s.Pending, s.Receives, s.Device.Counters}
}
