package engine

import (
	"syscall"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// InputKind tells inputs apart.
type InputKind uint8

// The kinds of inputs, with the fields of [Input] that they use.
const (
	Timer   InputKind = iota
	Do                // ID, Command, Self: begin a command
	Cancel            // ID: give up the nodes that have not answered the command yet
	Sent              // ID, Errno: the request of DoCall cannot be sent, or its reply was cut off
	Replied           // ID, Data: the reply to DoCall has arrived
	Joined            // Peer, Self, ReplyID, Features, Join: a node wants to join the session
	Used              // the user has looked at the session, which restarts its idle timer
)

// Input is what a [Console] steps on; the zero value is the timer. Data is used during Step only.
type Input struct {
	Kind     InputKind     // selects the fields that are used
	ID       uint64        // number of the command, or of the RPC
	Command  Command       // the command, which is the machine's from now on
	Self     nid.NID       // Do: NID of the console in the ids of sessions, not valid if the node has none with an address of 4 bytes; Joined: NID that the request was sent to
	Data     []byte        // the message as it arrived
	Errno    syscall.Errno // why the request cannot be sent
	Peer     nid.ProcessID // the node that wants to join
	ReplyID  uint64        // match bits of the reply to JOIN
	Features wire.Features // features of the JOIN request
	Join     wire.Join     // the JOIN request
}

// EffectKind tells effects apart.
type EffectKind uint8

// The kinds of effects, with the fields of [Effect] that they use.
const (
	DoCall   EffectKind = iota // ID, Peer, Service, Data, Bits, List: expect the reply under ID, let Peer get List under Bits, then put the request
	DoFree                     // ID: the RPC has ended, and its memory is free; inputs about it are ignored from now on
	DoAnswer                   // ID, Result, Err: the command has ended
	DoReply                    // ID, Peer, Self, Data: put the reply to JOIN to BulkPortal under ID
)

// Effect is something that the shell has to do.
type Effect struct {
	Kind    EffectKind    // selects the fields that are used
	ID      uint64        // number of the RPC, also match bits of its reply; DoAnswer: number of the command; DoReply: match bits
	Peer    nid.ProcessID // the node to send to
	Self    nid.NID       // NID of this node to send the reply from
	Service wire.Service  // service of the request
	Data    []byte        // the message to send; the shell owns it
	Bits    uint64        // match bits of the list of destinations; 0: there is none
	List    []byte        // the list of destinations; the shell owns it
	Result  Result        // what the command has found out
	Err     error         // why the command failed: an *Error
}

// Result is what a command has found out.
type Result struct {
	Session Session  // NewSession: the new session
	Answers []Answer // an answer for each RPC to a node
}

// Answer is how one node answered one RPC of a command.
type Answer struct {
	ID      nid.ProcessID   `json:"id"`                // the node
	State   State           `json:"state"`             // how the console saw the node when the RPC ended
	Failed  syscall.Errno   `json:"failed,omitempty"`  // why there is no reply: ETIMEDOUT, EHOSTUNREACH and others of the network, EINTR or ESHUTDOWN when the command or session has ended, EBADMSG for a malformed reply; 0: there is a reply
	Status  syscall.Errno   `json:"status,omitempty"`  // status of the reply
	Latency time.Duration   `json:"latency"`           // from the request to its reply, or to its failure
	Session wire.Session    `json:"session"`           // the session that the node has; NoSession if none or not known
	Name    string          `json:"name,omitempty"`    // Ping, and AddNodes refused with EBUSY: name of the session that the node has
	Timeout time.Duration   `json:"timeout,omitempty"` // Ping: time-out of the session that the node has
	Stat    *wire.StatReply `json:"stat,omitempty"`    // Stat: the counters; nil if refused
	Active  uint32          `json:"active,omitempty"`  // Query: tests that run or, of one test, units
	Server  bool            `json:"server,omitempty"`  // AddTest: the node was asked to be a server of the test
}

// OK reports whether the node did what it was asked to do.
func (a *Answer) OK() bool { return a.Failed == 0 && a.Status == 0 }

// Output has the effects that a step asks the shell to carry out.
type Output struct {
	Effects []Effect // effects in the order in which the shell carries them out
}

// keptEffects is the largest number of effects whose memory an output keeps for the next step.
const keptEffects = 1 << 10

// Reset empties the output and keeps its memory, unless that was for a large group.
func (o *Output) Reset() {
	if cap(o.Effects) > keptEffects {
		o.Effects = nil
	}
	clear(o.Effects)
	o.Effects = o.Effects[:0]
}

func (c *Console) do(e Effect) { c.out.Effects = append(c.out.Effects, e) }
