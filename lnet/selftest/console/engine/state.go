package engine

import (
	"fmt"
	"slices"

	"ulnet/lnet/nid"
)

// State is what the console knows of a node.
type State uint8

// The states.
const (
	Unknown State = iota // the node has no session, or has not answered yet
	Active               // the node has the console's session
	Busy                 // the node has the session of another console
	Down                 // the node has not answered in time, or could not be reached although it was active
)

var stateNames = [...]string{Unknown: "unknown", Active: "active", Busy: "busy", Down: "down"}

// String returns "unknown", "active", "busy", "down", or "state 7".
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// MarshalText implements encoding.TextMarshaler.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *State) UnmarshalText(text []byte) error {
	i := slices.Index(stateNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("selftest console: %q is no state: use active, busy, down or unknown", text)
	}
	*s = State(i)
	return nil
}

// Node is a test node and its state.
type Node struct {
	ID    nid.ProcessID `json:"id"`    // NID and PID of the node
	State State         `json:"state"` // what the console knows of the node
}

// Counts counts nodes by their state.
type Counts struct {
	Active  int `json:"active"`  // nodes that are Active
	Busy    int `json:"busy"`    // nodes that are Busy
	Down    int `json:"down"`    // nodes that are Down
	Unknown int `json:"unknown"` // nodes that are Unknown
	Total   int `json:"total"`   // all nodes
}

func (c *Counts) add(s State) {
	c.Total++
	switch s {
	case Active:
		c.Active++
	case Busy:
		c.Busy++
	case Down:
		c.Down++
	default:
		c.Unknown++
	}
}

func countsOf(nodes []*node) (c Counts) {
	for _, n := range nodes {
		c.add(n.state)
	}
	return c
}

func listOf(nodes []*node) []Node {
	list := make([]Node, len(nodes))
	for i, n := range nodes {
		list[i] = Node{n.id, n.state}
	}
	return list
}
