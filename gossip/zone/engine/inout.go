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
	Join                // Inc: begin an incarnation with this number, higher than any before
	Leave               // Code: say goodbye
	Arrived             // Data, Peer, At: a message arrived as bytes
	Delivered           // Message, At: a message of a machine with the same table
	Down                // Node: the transport lost its connection to a node in Output.Watch
	Failed              // Node, Local: a send to it failed; Local: for a reason of this host alone
	Set                 // Key, Value: write an attribute
	Delete              // Key: delete an attribute
	Remove              // Node: say goodbye in the name of a member, as an administrator wants

	DispatchDelivered // Dispatch: a message of another zone, handed over as it is
	DispatchFailed    // To: a dispatch to it failed, or the connection was lost
	QueryZone         // Key, Number: in the management zone: ask for the members of the base zone of that name; Listed answers
)

// Input is what a [Machine] steps on; the zero value is the timer. Data and Value
// are valid during Step.
type Input struct {
	Kind    InputKind     // decides which fields are used
	Node    wire.Ref      // in the machine's table
	Local   bool          // the send failed for a reason of this host alone
	Code    int32         // exit code
	Inc     uint64        // number of the incarnation
	Peer    nid.NID       // the sender of Data, as the transport says
	At      time.Duration // when the transport had a message; 0: now
	Data    []byte        // one message; signed if there is a key
	Message *wire.Message // must not be changed later
	Key     string        // of an attribute, or the name of a zone
	Value   []byte        // of an attribute

	Dispatch *wire.Dispatch // must not be changed later
	To       wire.ID        // DispatchFailed: the receiver of the dispatch
	Number   uint64         // QueryZone: comes back with the answer
}

// Send is a message to send.
type Send struct {
	To         wire.Ref     // 0: to NID, of which no more is known
	NID        nid.NID      // with To 0
	Priority   bool         // no acknowledgement, ahead of others (MS-A32)
	Message    wire.Message // without Config.Wire
	Begin, End int          // with Config.Wire: it is Output.Buf[Begin:End]
	short      uint64       // of the receiver
}

// Output is what a [Machine] wants done, in order.
type Output struct {
	Sends  []Send     // messages within the zone
	Events []Event    // in the order in which they happened
	Watch  []wire.Ref // from now on Down tells when the connection to them is lost
	Ignore []wire.Ref // no longer
	// Dispatches are messages to other zones. The caller reports a failure, or the loss of a
	// connection, by DispatchFailed.
	Dispatches []DispatchSend
	Buf        []byte // with Config.Wire: the bytes of all messages; it belongs to the caller after Step
	// Incarnation is the number of this node's incarnation if the step raised it; otherwise 0.
	// The caller stores it before it sends, so that the next incarnation begins above it (MS-A2).
	Incarnation uint64
}

// Reset empties o and keeps its memory.
func (o *Output) Reset() {
	clear(o.Sends)
	clear(o.Events)
	clear(o.Dispatches)
	*o = Output{o.Sends[:0], o.Events[:0], o.Watch[:0], o.Ignore[:0], o.Dispatches[:0], o.Buf[:0], 0}
}
