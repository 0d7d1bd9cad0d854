package engine

import (
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// RequestID names a request that is under way at a node; it is never used again.
type RequestID uint64

// InputKind tells inputs apart.
type InputKind uint8

// The kinds of inputs, with the fields of [Input] that they use. Those that
// begin with In answer an effect.
const (
	Timer      InputKind = iota
	Broadcast            // Broadcast: send one; its effect Began has Token
	Arrival              // From, Data, Cut, Wall, Signed: a request arrived
	Return               // From, Bits, Data (header), Payload or Carried, Trailer, Length (without a code), Cut, Signed: a reply arrived
	Answer               // ID, Size, Final, Below, Status: the service replies; Final: for the last time; Below: without itself, and why
	Abort                // ID
	Register             // Service, OOB, Pinned: it exists, and maps out-of-band groups, which stay
	Unregister           // Service
	Create               // Broadcast: of the group Group with Members
	Health               // From, Alive, Lifetime: what discovery says
	Listed               // Listed: which nodes are no strangers from now on; nil: all

	InPreRequest // ID, Status, Timeout: the callback returned
	InIncoming   // ID, Status
	InReply      // ID, Child
	InPostReply  // ID
	InReplyOut   // ID
	InMapped     // ID, Members or Status
	InSent       // ID, Child (Upward: Part), Status: a message has left, or cannot be sent
	InFetched    // ID, Status, Data (of a list): what was to be fetched is there
	InProgress   // ID, There: the first bytes of what is fetched in segments are there
	InUntold     // ID, Child: a message of DoTell cannot be sent
	InWithdrawn  // ID: all buffers of the request are free
)

// Upward as Child says that a message goes to the parent.
const Upward = -1

// Input is what a [Machine] steps on; the zero value is the timer. Pointers and
// slices are valid during Step, but for Members.
type Input struct {
	Kind      InputKind
	ID        RequestID
	Child     int
	Part      uint32
	From      nid.NID
	Bits      uint64
	Status    wire.Status
	Data      []byte
	Trailer   []byte
	Payload   []byte // of a service
	Carried   []byte // answers that the child's module passes on
	Length    int    // of a reply as it was sent
	Cut       bool
	Signed    bool // a code of a key that we have was verified
	Final     bool
	Below     bool
	Alive     bool
	OOB       bool
	Pinned    bool
	Size      int
	There     uint64
	Lifetime  uint64
	Wall      uint64 // this node's wall clock in nanoseconds since 1970; 0: not known
	Timeout   time.Duration
	Service   wire.ServiceID
	Members   *wire.Membership
	Broadcast *Outgoing
	Listed    func(nid.NID) bool // always says the same of a NID
	Token     any                // comes back with DoReply
}

// Outgoing describes a broadcast, or the creation of a group.
type Outgoing struct {
	Token      any // comes back with Began, Refused and Created
	Group      wire.GroupID
	Service    wire.ServiceID
	Members    *wire.Membership // of an out-of-band group, and for Create
	Tree       wire.Tree        // likewise
	Flags      wire.Flags       // FlagLast, FlagModule, FlagOOB, FlagSubset
	Payload    []byte
	Bulk       uint64        // length of the bulk data
	BulkSum    wire.Digest   // of these, with Config.Signed
	Segment    uint32        // forward it in segments of this length; 0: when all is there
	Processing time.Duration // estimate of how long services take
	Carry      int           // bytes of answers that modules pass on in a message; 0: DefaultCarry; negative: none
	Planned    wire.Digest   // with FlagSubset: of the members for whom buffers were posted
	Status     wire.Status   // set by Create, like Group without FlagModule, and by Broadcast
}

// EffectKind tells effects apart.
type EffectKind uint8

// The kinds of effects, with the fields of [Effect] that they use. Data is a
// range of Output.Buf, Children one of Output.Children, Missing one of
// Output.Missing.
const (
	DoSend      EffectKind = iota // ID, Child, To, Bits, Nodes, Room (for what is carried), Data: post the child's reply buffers under Bits, then send
	DoReply                       // ID, To, Bits, Part, Data (header), Carried, Trailer, Own, Token: send a reply; Own: with the service's payload; Again: the same once more
	DoRefuse                      // To, Bits, Data: send a reply that no request waits for
	DoUnpost                      // ID, Child: take the child's reply buffers back
	DoExpose                      // ID, Bits, Members or bulk data: let children fetch it
	DoFetch                       // ID, To, Bits, Length, Limit, Chunk, List: fetch a list, or bulk data, up to Limit; Segments: tell how far it is; Data: digest of bulk data, if it is not empty
	DoFetchMore                   // ID, Limit: the parent has more
	DoTell                        // ID, Child, To, Data: send a child word of progress, or the parent (Upward) that the request is held
	DoStop                        // ID: stop fetching
	DoWithdraw                    // ID: take all buffers back, answer InWithdrawn
	DoFree                        // ID: the request is over

	Began          // ID, Token, Children: a broadcast of this node is a request now
	Refused        // Token, Status: it never becomes one
	Created        // Token, Status: the group was created, or destroyed
	CallPreRequest // ID, To (parent), Children, Members, Whole, Data (payload), Header, Again (CallIncoming will not follow); at the root before another attempt
	CallIncoming   // ID, Status (of bulk data)
	CallReply      // ID, Child, Rank (whose answer it is), Status, Collective, Part, Final, Length (of the payload), Passed: Data (the payload), Nodes, Entities
	CallPostReply  // ID, Busy, Missing and Status (at the root): why it never left
	CallReplyOut   // ID, Status
	CallMap        // ID, Service, Group
	WarnAhead      // To, Bits (an incarnation, 0: ours or one that we passed on), Status: this node refused To's request, or To refused ours, with EAHEAD
)

// Range is a part of one of an Output's buffers.
type Range struct{ Begin, End int }

// Effect is one thing that a step wants done.
type Effect struct {
	Kind       EffectKind
	Final      bool
	Own        bool
	List       bool
	Busy       bool
	Collective bool
	Again      bool
	Segments   bool
	Passed     bool // CallReply: an answer that the child's module carried
	Status     wire.Status
	Child      int
	Rank       int
	Room       int
	Part       uint32
	ID         RequestID
	To         nid.NID
	Bits       uint64
	Length     uint64
	Limit      uint64
	Chunk      int // bytes of a GET
	Token      any
	Nodes      int
	Entities   int
	Data       Range
	Trailer    Range
	Carried    Range
	Children   Range
	Missing    Range
	Members    *wire.Membership
	Whole      *wire.Membership    // all members of the group, of which Members may be the live ones
	Header     *wire.RequestHeader // valid until the effects are applied
	Group      wire.GroupID
	Service    wire.ServiceID
}

// Output is what a [Machine] wants done, in order.
type Output struct {
	Effects  []Effect
	Buf      []byte
	Children []tree.Child
	Missing  []wire.Missing // each with the scope Node
}

// Reset empties o and keeps its memory.
func (o *Output) Reset() {
	clear(o.Effects)
	o.Effects, o.Buf, o.Children, o.Missing = o.Effects[:0], o.Buf[:0], o.Children[:0], o.Missing[:0]
}
