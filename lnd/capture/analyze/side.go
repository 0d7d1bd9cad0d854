package analyze

import (
	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
)

// side says where on its way a message was captured: which of its two NIDs is an end of the
// connection. A direct message has both, a routed one has its source on the first connection and
// its destination on the last.
type side uint8

const (
	atRequester side = 1 << iota // the requester is an end of the connection
	atTarget                     // the target is an end of the connection
)

// sideOf returns where a message from one NID to another was captured. The requester is the source
// of a message that asks, and the destination of an answer.
func sideOf(r *capture.Record, from, to nid.NID, answer bool) side {
	source, destination := atRequester, atTarget
	if answer {
		source, destination = atTarget, atRequester
	}
	var s side
	if isEnd(r.Conn, r.From, from) {
		s |= source
	}
	if isEnd(r.Conn, r.From.Other(), to) {
		s |= destination
	}
	return s
}

// isEnd reports whether n is the NID of an end of a connection. If the capture lacks the HELLO of that
// end, isEnd compares IP addresses, and returns true for a NID that has no IP address.
func isEnd(c *capture.Conn, end capture.Side, n nid.NID) bool {
	if named := c.NIDs[end]; named.IsValid() {
		return named == n
	}
	addr := n.Addr()
	return !addr.IsValid() || addr == c.Ends[end].Addr()
}

// measures reports whether the time between an operation's first message, captured at began, and its answer,
// captured at s, is the time that the operation took. It is not if a router lies between these two points of
// capture: then the capture lacks a part of the way.
func (began side) measures(s side) bool {
	if began&atRequester != 0 {
		return s&atRequester != 0
	}
	return began&atTarget == 0 || s&atRequester == 0
}
