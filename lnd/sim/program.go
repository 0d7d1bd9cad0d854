package sim

import (
	"strconv"
	"time"

	"ulnet/lnet/machine"
)

// NodeID numbers the nodes of a network from 0. Its text counts from 1, as
// scenario files do.
type NodeID int32

// String returns the node's number as people see it.
func (n NodeID) String() string { return strconv.Itoa(int(n) + 1) }

// Program is what runs on a node: a machine whose messages are of type M.
// Protocols adapt their engine to it with a few lines.
//
// now is the node's own clock. It begins at 0 with the simulation and goes on while the node is
// down. The node's skew sets its speed.
type Program[M any] = machine.Machine[Input[M], Output[M]]

// Kind says what an input is.
type Kind uint8

// The kinds of inputs. They use the fields of [Input] that are named here.
const (
	Timer   Kind = iota // the time that the last step returned as its wake has come
	Start               // the first input of every incarnation
	Message             // the message Msg of the node From has arrived
	Refused             // no process on the node From was there to take the message Msg
	Reset               // the process on the watched node From has died
	Command             // the scenario gives the node the command Text
)

var kinds = [...]string{"timer", "start", "message", "refused", "reset", "command"}

// String returns the name of the kind.
func (k Kind) String() string { return kinds[k] }

// Input is what a [Program] is stepped with. The zero value is the timer.
type Input[M any] struct {
	Kind Kind   // says which of the other fields are set
	From NodeID // node that sent the message, or whose process died
	Msg  M      // valid during Step, unless M says otherwise
	Text string // text of the command
}

// Output is what a [Program] asks the network to do.
type Output[M any] struct {
	Sends  []Send[M] // messages to send, in this order
	Watch  []NodeID  // nodes to watch from now on: a Reset comes once, when the process there dies
	Ignore []NodeID  // nodes that the program watches no longer
	Events []Event   // events that users of the simulation are told of
}

// Reset empties o, but keeps its memory for reuse.
func (o *Output[M]) Reset() {
	clear(o.Sends)
	o.Sends, o.Watch, o.Ignore, o.Events = o.Sends[:0], o.Watch[:0], o.Ignore[:0], o.Events[:0]
}

// Send is a message to send. Msg belongs to the network from then on, which delivers it
// as it is: a program that will change Msg sends a copy.
type Send[M any] struct {
	To       NodeID // node that receives the message
	Msg      M      // content of the message
	Size     int    // size on the wire in bytes, for bandwidth and counters
	Priority bool   // passes all queued messages except earlier priority messages
	// Copy says that this message is another copy of the multicast before it in Output.Sends,
	// for another receiver. It leaves the sender at the same time as that multicast, and needs no
	// further bandwidth of the sender's own link. After that each copy is delayed and lost on its own.
	Copy bool
}

// Event is something a program tells its users: a join, a delivery, a
// decision. The simulator hands it to [Config].OnEvent and knows no more of it.
type Event struct {
	Kind    uint16 // number that the protocol gives this kind of event
	Subject NodeID // node that the event is about
	Value   uint64 // value whose meaning depends on Kind
	Text    string // text whose meaning depends on Kind
}

// Incarnation is one run of a node, from start to end.
type Incarnation struct {
	Node NodeID // node that starts
	// Number is how often the node has been restarted.
	Number uint64
	// Seed is for the random numbers of this incarnation.
	Seed uint64
	// Now is the time on the node's clock.
	Now time.Duration
}
