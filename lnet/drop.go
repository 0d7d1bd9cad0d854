package lnet

import (
	"fmt"
	"sync/atomic"
)

// DropReason says why an arrived message was not delivered. Its zero value
// means that it was not dropped. In no case does the peer get an answer.
type DropReason uint8

// The drop reasons. Those marked "closes" also end every connection of the
// peer, because they break the protocol.
const (
	NotDropped       DropReason = iota
	BadType                     // unknown type, or a HELLO as a message; closes the connection
	BadPayload                  // an ACK or GET with payload, or more than 1 MiB; closes the connection
	NotDirect                   // for another NID of the NI's own net; closes the connection
	WrongNI                     // for another NID of this node; closes the connection
	RoutingOff                  // for another node, while routing is off
	BadSource                   // the source NID is invalid, or one of this node's
	BadPortal                   // the portal index is 64 or more
	NoMatch                     // no match entry takes the message
	TooLong                     // longer than the matched MD, which does not truncate
	StaleHandle                 // an ACK or REPLY for an MD that is gone or of an earlier incarnation
	InactiveMD                  // an ACK or REPLY for an MD that is exhausted, is attached to a match entry, or does not await an answer
	LazyFull                    // the lazy portal's queue is at its limit
	LazyCleared                 // the message was queued on a portal that stopped being lazy
	NIShutdown                  // the message was held when its NI shut down
	PeerGone                    // the message was held when its connection ended
	PeerTableFull               // the table of peers has no room for another
	SimulatedFailure            // FailNID made the message fail
	NoMulticast                 // came as a datagram to a group, and is no PUT without ACK, or its portal takes none from that group
	LazyMulticast               // for a group, at a lazy portal where no match entry takes it
	ForeignSource               // the source is not the process at the other end of the connection
	NotAsked                    // an ACK or REPLY of a process that was not asked for it
	NoRoute                     // for another net, to which this node has no route
	RouteLoop                   // for another net; the next hop is the peer that the message came from
	NeedlessDetour              // for another net, on which the source is too
	NextHopStalled              // to be forwarded; the next hop has stalled, and the credits or buffers left for such hops are in use
	NextHopDead                 // to be forwarded; the next hop cannot be reached
	RoutingStopped              // the message waited to be forwarded when routing was turned off
	TransitCut                  // was to be forwarded; its connection ended before all of the payload had arrived
	ForwardFailed               // was to be forwarded, and could not be sent
	HandlerBusy                 // for an MD whose handler is behind with earlier events: the message is a datagram, or too many wait
	DropRule                    // a drop rule of package faultrule dropped the message
	AsymmetricRoute             // came by a router that is no gateway to the source's net, and DropAsymmetric is set
	AnswersUnread               // a GET, or a PUT with ACK; too many answers wait for its sender, which does not read them
	dropReasonsEnd              // number of reasons; not a reason
)

var dropNames = [dropReasonsEnd]string{
	"not dropped", "bad type", "bad payload length", "not direct", "wrong NI", "routing off",
	"bad source", "bad portal", "no match", "too long", "stale handle",
	"inactive MD", "lazy queue full", "lazy portal cleared", "NI shutdown", "peer gone",
	"peer table full", "simulated failure", "no multicast", "multicast at a lazy portal",
	"foreign source", "not asked",
	"no route", "route loop", "needless detour", "next hop stalled", "next hop dead",
	"routing stopped", "transit cut", "forward failed",
	"handler busy", "drop rule", "asymmetric route",
	"answers unread",
}

// DropReasons returns all reasons, without NotDropped.
func DropReasons() (all []DropReason) {
	for r := NotDropped + 1; r < dropReasonsEnd; r++ {
		all = append(all, r)
	}
	return all
}

func (r DropReason) String() string {
	if r < dropReasonsEnd {
		return dropNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// dropCounters has the number of drops for each reason.
type dropCounters [dropReasonsEnd]atomic.Uint64

func (c *dropCounters) snapshot() map[string]uint64 {
	counts := make(map[string]uint64)
	for r := NotDropped + 1; r < dropReasonsEnd; r++ {
		if n := c[r].Load(); n > 0 {
			counts[r.String()] = n
		}
	}
	return counts
}
