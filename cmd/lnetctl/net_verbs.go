package main

import "ulnet/cmd/internal/node"

// verbsDoc is what the device of an NI on RDMA is, and what goes on there.
type verbsDoc struct {
	node.O2IBDevice
	Peers      int               `json:"peers"`
	Handshakes int               `json:"handshakes"`
	Pending    int               `json:"pending"` // messages that wait for a connection
	Receives   node.O2IBReceives `json:"receives"`
}

func newVerbsDoc(s *node.O2iblnd) *verbsDoc {
	return &verbsDoc{s.Device, s.Peers, s.Handshakes, s.Pending, s.Receives}
}
