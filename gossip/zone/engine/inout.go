package engine

import (
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/nid"
)

// InputKind tells inputs apart.
type InputKind uint8

// The kinds of inputs, with the fields of [Input] that they use.
const (
	Timer     InputKind = iota
	Join                // uses Inc: begin an incarnation with this number, higher than any before
	Leave               // uses Code: say goodbye with this exit code
	Arrived             // uses Data, Peer, At: a message arrived as bytes
	Delivered           // uses Message, At: a message of a machine with the same table
	Down                // uses Node: the transport lost the connection to a node in Output.Watch
	Failed              // uses Node, Local: a send to the node failed
	Set                 // uses Key, Value: write an attribute
	Delete              // uses Key: delete an attribute
	Remove              // uses Node: say goodbye in the name of that member, at an administrator's request

	DispatchDelivered // uses Dispatch: a message of another zone arrived as a struct
	DispatchFailed    // uses To: a dispatch to a node failed, or the connection to the node was lost
	QueryZone         // uses Key, Number: in the management zone, ask for the members of the base zone named Key; the event Listed is the answer
)

// Input is the input of a step of a [Machine]. The zero value means that the timer is due. Data
// and Value are valid during Step.
type Input struct {
	Kind    InputKind     // decides which fields are used
	Node    wire.Ref      // number of the node in the machine's table
	Local   bool          // the send failed for a reason of this host alone
	Code    int32         // exit code for the goodbye
	Inc     uint64        // number of the incarnation
	Peer    nid.NID       // NID of the sender of Data, as the transport reports
	Primary nid.NID       // primary NID of the sender's node, if the transport has confirmed it; may be equal to Peer, or invalid
	At      time.Duration // when the transport received the message; 0: now
	Wall    uint64        // the wall clock now, in the unit of incarnations; 0: Config.Wall plus the time since the first step
	Data    []byte        // one message; signed if the machine has a key
	Message *wire.Message // the message, which must not be changed later
	Key     string        // key of an attribute, or the name of a zone
	Value   []byte        // value of the attribute, with Set

	Dispatch *wire.Dispatch // the dispatch, which must not be changed later
	To       wire.ID        // with DispatchFailed: the receiver of the dispatch
	Number   uint64         // with QueryZone: the answer carries the same number
}

// Send is a message to send.
type Send struct {
	To         wire.Ref     // the receiver; 0: only its NID is known
	NID        nid.NID      // the receiver if To is 0
	Priority   bool         // sent without acknowledgement, before other messages (MS-A32)
	Rest       bool         // with Config.Wire: continues the lists of the message before, and does not overtake it
	Message    wire.Message // the message as a struct; only without Config.Wire
	Begin, End int          // with Config.Wire: the message is Output.Buf[Begin:End]
	short      uint64       // short form of the receiver's id
}

// Output has the actions that a step of a [Machine] asks its caller to carry out, in order.
type Output struct {
	Sends  []Send     // messages within the zone
	Events []Event    // in the order in which they happened
	Watch  []wire.Ref // nodes for which the caller reports a lost connection by Down from now on
	Ignore []wire.Ref // nodes whose lost connections the caller no longer needs to report
	// Dispatches are messages to other zones. The caller reports a failure, or the loss of a
	// connection, by DispatchFailed.
	Dispatches []DispatchSend
	Buf        []byte // with Config.Wire: the bytes of all messages; it belongs to the caller after Step
	// Incarnation is the number of this node's incarnation if the step raised it; otherwise 0. The caller stores it
	// soon, so that the next incarnation begins above it (MS-A2). The caller may carry out Sends before the number
	// is stored: if it crashes in between, its next incarnation begins below the number that others know, and has
	// to refute once more.
	Incarnation uint64
}

// Reset empties o and keeps its memory.
func (o *Output) Reset() {
	clear(o.Sends)
	clear(o.Events)
	clear(o.Dispatches)
	*o = Output{o.Sends[:0], o.Events[:0], o.Watch[:0], o.Ignore[:0], o.Dispatches[:0], o.Buf[:0], 0}
}
