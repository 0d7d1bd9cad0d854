package engine

import (
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// InputKind tells inputs apart.
type InputKind uint8

// The kinds of inputs, with the fields of [Input] that they use.
const (
	Timer   InputKind = iota
	Arrived           // Peer, Self, Service, Data, for StatService LNet, for JoinService Console: a request has arrived
	Moved             // ID, Failed, Unsent, Corrupt, for a list Data: the transfer of DoPut or DoGet has ended
	Sent              // ID, Failed: the request of DoCall was sent, or cannot be sent
	Replied           // ID, Data: the reply to DoCall has arrived
	Bulk              // ID, Failed, Corrupt: the server has moved the bulk data of DoCall
	Join              // ID, Peer, Group: ask a console for membership of its session, then DoAnswer
	Cancel            // ID: give up a Join
	Recheck           // Config.Allow allows other nodes than before: end what it no longer allows
)

// Input is what a [Node] steps on; the zero value is the timer. Data is used during Step only.
type Input struct {
	Kind    InputKind      // selects the fields that are used
	ID      uint64         // number of the transfer or RPC, from the effect; of a Join: any number, which its DoAnswer repeats
	Peer    nid.ProcessID  // sender of the request; the console to join
	Self    nid.NID        // NID of this node to which the request was sent
	Service wire.Service   // service of the request: its match bits
	Data    []byte         // the message as it arrived, or the list of destinations
	Failed  bool           // the network or the peer has failed
	Unsent  bool           // the GET had not left this node when DoCancel came, or it could not be sent; Failed is set, too
	Corrupt bool           // the data that arrived is not what the check expects
	LNet    wire.LNetStats // counters of this node's LNet
	Console bool           // this node has a console, which answers JOIN requests
	Group   string         // group of the console, which makes it if it is not there
}

// EffectKind tells effects apart.
type EffectKind uint8

// The kinds of effects, with the fields of [Effect] that they use.
const (
	DoReply   EffectKind = iota // Peer, Self, Bits, Data, Stranger: put the reply to BulkPortal
	DoPut                       // ID, Peer, Self, Bits, Length, Check: fill data, put them to BulkPortal, then Moved
	DoGet                       // ID, Peer, Self, Bits, Length, Check, BigEndian, List: get data from BulkPortal, verify them, then Moved; List: hand them over
	DoCall                      // ID, Peer, Service, Data, Bits, Op, Length, Offset, Check: expect the reply under ID and the bulk data under Bits, then put the request
	DoUnpost                    // ID: the server will not move the bulk data of DoCall: withdraw its memory
	DoCancel                    // ID: end the transfer or RPC. A transfer of DoPut or DoGet still needs Moved, once its memory is free, with the data if they had begun to arrive; other inputs about the ID are ignored from now on
	DoFree                      // ID: the RPC has ended, and its memory is free
	DoJoin                      // Peer, Self, Bits, Features, Join: give a JOIN request to the console, which puts its reply
	DoAnswer                    // ID, Joined: a Join has ended
	DoTellEnd                   // Peer: the session that Peer made has ended, because Config.Allow no longer allows that node or a destination of its tests
)

// Effect is something that the shell has to do.
type Effect struct {
	Kind      EffectKind    // selects the fields that are used
	ID        uint64        // number of the transfer or of the RPC; with DoCall also the match bits of the reply
	Peer      nid.ProcessID // the node to send to
	Self      nid.NID       // NID of this node to send from
	Bits      uint64        // match bits of the reply (DoReply, DoJoin) or of the bulk data; 0: the RPC has no bulk data
	Service   wire.Service  // service of a request
	Op        wire.BRWOp    // Read: the server puts the bulk data; Write: it gets them
	Length    int           // bytes of bulk data
	Offset    int           // offset of the bulk data in the first page of the client's memory
	Check     wire.Check    // how much of the data is filled and verified
	BigEndian bool          // byte order of the node that fills the data
	List      bool          // the data are a list of destinations
	Data      []byte        // the message to send, until Reset of the output
	Stranger  bool          // Config.Allow refuses Peer
	Features  wire.Features // features of a JOIN request
	Join      *wire.Join    // a JOIN request
	Joined    Joined        // the end of a Join
}

// Output has the effects that a step asks the shell to carry out.
type Output struct {
	Effects []Effect // effects in the order in which the shell carries them out
	memory  []byte   // memory for messages; its length is the number of bytes that messages of this output use
}

const (
	keptEffects  = 1 << 10               // most effects whose memory an output keeps for the next step
	someMessages = 16 * wire.MessageSize // bytes that are allocated at a time, for several messages
)

// message returns memory for a message, empty.
func (o *Output) message() []byte {
	at := len(o.memory)
	if cap(o.memory)-at < wire.MessageSize {
		o.memory, at = make([]byte, 0, someMessages), 0 // earlier messages keep the memory that they have
	}
	o.memory = o.memory[:at+wire.MessageSize]
	return o.memory[at:at:len(o.memory)]
}

// Reset empties the output and keeps its memory, unless that was for the start of a large batch.
func (o *Output) Reset() {
	if cap(o.Effects) > keptEffects {
		o.Effects = nil
	}
	clear(o.Effects)
	o.Effects, o.memory = o.Effects[:0], o.memory[:0]
}

func (n *Node) do(e Effect) { n.out.Effects = append(n.out.Effects, e) }

// Stats are the counters of a node, of which StatService sends a part.
type Stats struct {
	wire.RPCStats              // counters of RPCs
	BRWErrors     uint32       // BRW RPCs that failed, as client, in all sessions
	PingErrors    uint32       // PING RPCs that failed, as client
	Malformed     uint64       // requests that are not well-formed for their service
	NotAllowed    uint64       // requests and destinations that Config.Allow refuses
	Overload      uint64       // requests dropped because too many waited
	TimedOut      uint64       // sessions ended by their time-out
	Session       wire.Session // session of the node, NoSession if none
	Name          string       // name of the session
	Calls         int          // RPCs of this node as client that are under way
	Moving        int          // memory of the BRW data that this node serves now, a page at least for each request
}
