package selftest

import (
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// NewSessionRequest makes a session.
type NewSessionRequest struct {
	Key      uint32        `json:"key"`      // key that the commands of the session have
	Name     string        `json:"name"`     // name of the session
	Timeout  time.Duration `json:"timeout"`  // time without commands after which the session ends
	Force    bool          `json:"force"`    // end an earlier session, and take nodes of other consoles
	Features wire.Features `json:"features"` // features of the session
}

// JoinRequest has the test node join a session.
type JoinRequest struct {
	Console nid.ProcessID `json:"console"` // the node of the console
	Group   string        `json:"group"`   // group of the console to join; the console creates it if it does not exist
}

// Named asks for a group or a batch.
type Named struct {
	Name string `query:"name,always"` // name of the group or batch
}

// GroupRequest changes a group.
type GroupRequest struct {
	Key   uint32          `json:"key"`             // key of the session
	Name  string          `json:"name"`            // name of the group
	Nodes []nid.ProcessID `json:"nodes,omitempty"` // nodes to add or to remove
}

// AskRequest sends an RPC to each of some test nodes.
type AskRequest struct {
	Key     uint32         `json:"key"`     // key of the session
	Target  console.Target `json:"target"`  // the nodes to ask
	Timeout time.Duration  `json:"timeout"` // how long to wait for each node
}

// CleanRequest removes nodes from a group.
type CleanRequest struct {
	Key    uint32          `json:"key"`    // key of the session
	Name   string          `json:"name"`   // name of the group
	States []console.State `json:"states"` // states of the nodes to remove
}

// BatchRequest does something to a batch.
type BatchRequest struct {
	Key     uint32        `json:"key"`               // key of the session
	Batch   string        `json:"batch"`             // name of the batch
	Test    int           `json:"test,omitempty"`    // query: number of a test, from 1 on; 0: the batch
	Force   bool          `json:"force,omitempty"`   // stop: abort RPCs that are under way
	Timeout time.Duration `json:"timeout,omitempty"` // run, query: how long to wait for each node
}

// TestRequest adds a test to a batch.
type TestRequest struct {
	Key  uint32       `json:"key"`  // key of the session
	Test console.Test `json:"test"` // the test to add
}
