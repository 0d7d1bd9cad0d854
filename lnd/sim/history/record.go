package history

import (
	"fmt"
	"strings"
	"time"

	"ulnet/lnd/sim"
)

// Kind says what a record reports.
type Kind uint16

// The events that a node reports, of what it did itself or was told.
const (
	Join       Kind = 1 + iota // Node says that Subject is a member from now on
	Leave                      // Node says that Subject has left by its own decision
	Death                      // Node says that Subject is dead
	Eviction                   // Node says that Subject was expelled
	_                          // unused, so that the kinds after this one keep their numbers, which the digests of runs contain
	Send                       // Node sends Value to all
	Delivery                   // Value, which Subject sent, arrived at Node
	Completion                 // Value, which Node sent, has reached all but those reported as Unreached
	Unreached                  // Node says, before the Completion, that Subject has not got Value
)

// The ground truth: what was done to Node, or to the network.
const (
	Start      Kind = 128 + iota // an incarnation of Node began
	Kill                         // the process of Node was killed
	Crash                        // the host of Node crashed, and its process with it
	Pause                        // the process of Node was paused
	Resume                       // Node goes on after a pause
	Skew                         // the clock of Node gains Value ppm from now on, as an int64
	Slow                         // each step of Node costs Value ns more from now on
	Partition                    // a partition, with Text such as "1-500 | 501-1000"
	Cut                          // a cut, with Text such as "1-3 -> 4"
	Heal                         // the end of the partition and all cuts
	Links                        // changed links, with Text such as "1-10 -> 2 loss 10%"
	LinksReset                   // all links are again as before their changes
)

// Own is the first of the kinds that a protocol may give a meaning of its own.
const Own Kind = 256

var kinds = map[Kind]string{
	Join: "join", Leave: "leave", Death: "death", Eviction: "eviction",
	Send: "send", Delivery: "delivery", Completion: "completion", Unreached: "unreached",
	Start: "start", Kill: "kill", Crash: "crash", Pause: "pause", Resume: "resume", Skew: "skew", Slow: "slow",
	Partition: "partition", Cut: "cut", Heal: "heal", Links: "links", LinksReset: "links reset",
}

// String returns the name of a kind.
func (k Kind) String() string {
	if name, ok := kinds[k]; ok {
		return name
	}
	return fmt.Sprintf("kind %d", uint16(k))
}

// isGroundTruth reports whether records of the kind are about what was done to nodes,
// rather than what they were told.
func (k Kind) isGroundTruth() bool { return k >= Start && k < Own }

// NoNode is the Node of records about the whole network, and the Subject of records
// without one.
const NoNode sim.NodeID = -1

// Record is one entry of a history.
type Record struct {
	At          time.Duration // virtual time of the event
	Node        sim.NodeID    // node that reports, or that the act was done to
	Incarnation uint32        // number of Node's incarnation
	Kind        Kind          // what happened
	Subject     sim.NodeID    // node that the record is about
	Value       uint64        // value whose meaning depends on Kind
	Text        string        // text whose meaning depends on Kind
}

// String returns the record as one line, such as this one of the first incarnation of node 3:
//
//	1.5s node 3.0: death of 7
func (r Record) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v ", r.At)
	if r.Node == NoNode {
		b.WriteString("network: ")
	} else {
		fmt.Fprintf(&b, "node %v.%d: ", r.Node, r.Incarnation)
	}
	b.WriteString(r.Kind.String())
	if r.Subject != NoNode && !r.Kind.isGroundTruth() {
		fmt.Fprintf(&b, " of %v", r.Subject)
	}
	switch {
	case r.Kind == Skew:
		fmt.Fprintf(&b, " %+dppm", int64(r.Value))
	case r.Kind == Slow:
		fmt.Fprintf(&b, " %v", time.Duration(r.Value))
	case r.hasValue():
		fmt.Fprintf(&b, " value %d", r.Value)
	}
	if r.Text != "" {
		b.WriteString(" " + r.Text)
	}
	return b.String()
}

func (r Record) hasValue() bool {
	switch r.Kind {
	case Send, Delivery, Completion, Unreached:
		return true
	}
	return r.Value != 0 && !r.Kind.isGroundTruth()
}
