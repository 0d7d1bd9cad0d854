package engine

import (
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// RequestID names a request at a node. It is never reused.
type RequestID uint64

// InputKind tells inputs apart.
type InputKind uint8

// The kinds of inputs, with the fields of [Input] that they use. Those that begin with In
// report the result of an effect.
const (
	Timer       InputKind = iota
	Broadcast             // uses Broadcast: send it; the effect Began has the same Token
	Arrival               // uses From, Data, Cut, Wall, Signed: a request arrived
	Return                // uses From, Bits, Data (header), Payload or Carried, Trailer, Length (without authentication code), Cut, Signed, Token: a reply arrived; Broken: it was cut off, and From, Bits and Token are all that is known of it
	Answer                // ID, Size, Final, Below, Status: the service replies; Final: the last part; Below: for the members below alone, Status is the node's own
	Abort                 // uses ID: the service aborts the request
	Register              // Service, OOB, Pinned: a service exists; OOB: it maps out-of-band groups; Pinned: these stay in the cache
	Unregister            // uses Service: the service was unregistered
	Create                // uses Broadcast: create the group Group with Members
	Health                // uses From, Alive, Lifetime: news of discovery
	Listed                // Listed: reports which nodes are listed from now on; nil: all are
	Convergence           // uses Timeout: Config.Propagation from now on

	InPreRequest // uses ID, Status, Timeout: the pre-request callback returned
	InIncoming   // uses ID, Status: the incoming-request callback returned
	InReply      // uses ID, Child: the incoming-reply callback returned
	InPostReply  // uses ID: the post-reply callback returned
	InReplyOut   // uses ID: the reply-out callback returned
	InMapped     // uses ID, and Members or Status: the result of CallMap
	InSent       // ID, Child (Upward: Part), Status: a message was sent, or cannot be sent
	InFetched    // ID, Status, Data (of a list): a fetch has ended
	InProgress   // ID, There: the first There bytes of pipelined bulk data have arrived
	InUntold     // ID, Child: a message of DoTell cannot be sent
	InWithdrawn  // uses ID: all buffers of the request are free
)

// Upward as the value of Child means that a message goes to the parent.
const Upward = -1

// Input is an input of [Machine.Step]; the zero value is a timer that has expired. After Step
// the machine does not use its pointers and slices any more, except for Members.
type Input struct {
	Kind      InputKind          // selects the fields that are used
	ID        RequestID          // id of the request
	Child     int                // index of a child, or Upward
	Part      uint32             // number of a message of a reply, from 0
	From      nid.NID            // sender, or the node that the input is about
	Bits      uint64             // match bits of the reply
	Status    wire.Status        // result of the effect or callback
	Data      []byte             // the message, the header, or the list
	Trailer   []byte             // trailer of a reply, as it arrived
	Payload   []byte             // payload of the service's reply
	Carried   []byte             // answers that the child's module passes on
	Length    int                // length of a reply as it was sent, in bytes
	Cut       bool               // the message is incomplete: longer than its buffer
	Broken    bool               // the connection ended before all of the message had arrived
	Signed    bool               // the message has a valid signature
	Final     bool               // the message is the last part of a reply
	Below     bool               // the reply is for the members below this node alone, because the service of this node has failed
	Alive     bool               // the node From is alive
	OOB       bool               // the service maps out-of-band groups to members
	Pinned    bool               // the service's out-of-band groups stay in the cache
	Size      int                // bytes of the service's reply
	There     uint64             // bytes that have arrived, without a gap from the beginning
	Lifetime  uint64             // how often the node From has died
	Wall      uint64             // this node's wall clock, in ns since 1970; 0: not known
	Timeout   time.Duration      // timeout of the service at this node, 0: the root's; with Convergence, how long discovery takes to converge
	Service   wire.ServiceID     // the service that was registered or unregistered
	Members   *wire.Membership   // members of an out-of-band group; the machine keeps the pointer
	Broadcast *Outgoing          // the broadcast to send, or the group to create
	Listed    func(nid.NID) bool // reports whether a node is listed; a pure function
	Token     any                // value that DoReply, or DoRepost, returns
}

// Outgoing describes a broadcast, or the creation of a group.
type Outgoing struct {
	Token      any              // value that Began, Refused and Created return
	Group      wire.GroupID     // the group to send to; set by Create without FlagModule
	Service    wire.ServiceID   // the service that runs the request
	Members    *wire.Membership // members of an out-of-band group; for Create, the members that the group is to have
	Tree       wire.Tree        // tree of an out-of-band group; for Create, the tree that the group is to have
	Flags      wire.Flags       // FlagLast, FlagModule, FlagOOB, FlagSubset
	Payload    []byte           // copied by Step
	Bulk       uint64           // length of the bulk data in bytes
	BulkSum    wire.Digest      // digest of the bulk data, with Config.Signed
	Segment    uint32           // bytes of a segment of pipelined bulk data; 0: not pipelined
	Processing time.Duration    // estimate of the time that services take
	Carry      int              // bytes of answers that modules pass on in a message; 0: DefaultCarry; negative: none
	Planned    wire.Digest      // with FlagSubset: digest of the members for which buffers were posted
	Status     wire.Status      // result of Create or Broadcast, which set it
}

// EffectKind tells effects apart.
type EffectKind uint8

// The kinds of effects, with the fields of [Effect] that they use. Data is a
// range of Output.Buf, Children one of Output.Children, Missing one of
// Output.Missing.
const (
	DoSend      EffectKind = iota // ID, Child, To, Bits, Nodes, Room (for carried answers), Data: post the child's reply buffers under Bits, then send
	DoReply                       // ID, To, Bits, Part, Data (header), Carried, Trailer, Own, Token: send a reply; Own: with the service's payload; Again: repeat the message
	DoRefuse                      // uses To, Stranger, Bits, Data: send a reply that no request waits for
	DoUnpost                      // uses ID, Child: withdraw the child's reply buffers
	DoRepost                      // ID, Child, To, Bits, Token (of Return): post a child's reply buffer again: it was used up by a reply that the machine ignores, or that was cut off
	DoExpose                      // ID, Bits, Members or bulk data: let children fetch this data
	DoFetch                       // ID, To, Bits, Length, Limit, Chunk, List: fetch a list, or bulk data, up to Limit; Segments: report progress; Data: digest of bulk data, if it is not empty
	DoFetchMore                   // uses ID, Limit: the parent has more data
	DoTell                        // ID, Child, To, Data: send a child a Progress, or the parent (Upward) a Hold
	DoStop                        // uses ID: stop fetching
	DoWithdraw                    // uses ID: withdraw all buffers, then report InWithdrawn
	DoFree                        // uses ID: the request is over

	Began          // ID, Token, Children: a broadcast of this node is under way
	Refused        // uses Token, Status: a broadcast was refused
	Created        // uses Token, Status, Group, Missing: the attempt to create a group, or to destroy one, has ended with Status
	CallPreRequest // ID, To (parent), Children, Members, Whole, Data (payload), Header, Again (CallIncoming will not follow); the root makes this call only before another attempt
	CallIncoming   // uses ID, Status (of bulk data): call incoming-request
	CallReply      // ID, Child, Rank (of the member that answers), Status, Collective, Part, Final, Length (of the payload), Passed, Data (the payload, if Passed), Nodes, Entities
	CallPostReply  // ID, Busy; at the root also Missing, and Status: OK, or why the broadcast was never sent
	CallReplyOut   // uses ID, Status: call reply-out
	CallMap        // uses ID, Service, Group: the service maps the group
	WarnAhead      // To, Bits, Status: this node refused a message of To, because of the incarnation Bits; or, with Status EAHEAD, To refused a request of this node
)

// Range is the elements from Begin to before End of one of an Output's buffers.
type Range struct {
	Begin int // index of the first element
	End   int // index after the last element
}

// Effect is one thing that the caller of a step has to do.
type Effect struct {
	Kind       EffectKind          // selects the fields that are used
	Final      bool                // this is the last part of a reply
	Own        bool                // the payload is that of this node's service, see Token
	List       bool                // the list of members is meant, not bulk data
	Busy       bool                // buffers are in use until reply-out
	Collective bool                // Status was reported by the module of the child
	Again      bool                // a retry, or another attempt of a request that has run here
	Segments   bool                // report progress with InProgress
	Stranger   bool                // To is not listed
	Passed     bool                // the answer of a member below the child, which the child's module has passed on
	Status     wire.Status         // OK, or the reason of the failure
	Child      int                 // index of a child, or Upward
	Rank       int                 // rank of the member that has answered
	Room       int                 // bytes of carried answers that the child's reply may have
	Part       uint32              // number of a message of a reply, from 0
	ID         RequestID           // id of the request; 0: none
	To         nid.NID             // receiver; the parent, or the node that a warning is about
	Bits       uint64              // match bits for the replies
	Length     uint64              // length of the data in bytes
	Limit      uint64              // number of bytes that can be fetched so far
	Chunk      int                 // bytes of one GET
	Token      any                 // Token of the input that the effect answers
	Nodes      int                 // nodes that an error stands for, or that a reply may name
	Entities   int                 // number of entities on these nodes
	Data       Range               // message or payload, in Output.Buf
	Trailer    Range               // trailer of the reply, in Output.Buf
	Carried    Range               // answers that this reply carries because the service did not answer, in Output.Buf; see carry.go
	Children   Range               // children, in Output.Children
	Missing    Range               // missing members, in Output.Missing
	Members    *wire.Membership    // nodes of the request's tree
	Whole      *wire.Membership    // all members of the group, of which Members may be the live ones
	Header     *wire.RequestHeader // header of the request; valid until the effects are applied
	Group      wire.GroupID        // the group that was created, or is to be mapped
	Service    wire.ServiceID      // service that the effect is about
}

// Output is the result of a step. The caller reuses it, with Reset.
type Output struct {
	Effects  []Effect       // to be applied in order
	Buf      []byte         // bytes that effects refer to
	Children []tree.Child   // children that effects refer to
	Missing  []wire.Missing // members that effects refer to, each with the scope Node
}

// Reset empties o and keeps its memory.
func (o *Output) Reset() {
	clear(o.Effects)
	o.Effects, o.Buf, o.Children, o.Missing = o.Effects[:0], o.Buf[:0], o.Children[:0], o.Missing[:0]
}
