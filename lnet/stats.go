package lnet

import (
	"sync/atomic"

	"ulnet/lnd"
	"ulnet/lnet/wire"
)

// TypeCounts counts messages by type (struct lnet_comm_count).
type TypeCounts struct {
	Put   uint64 `json:"put"`   // number of PUTs
	Get   uint64 `json:"get"`   // number of GETs
	Reply uint64 `json:"reply"` // number of REPLYs
	Ack   uint64 `json:"ack"`   // number of ACKs
	Hello uint64 `json:"hello"` // number of HELLOs that came as a message
}

// Total is the number of messages of all types.
func (c TypeCounts) Total() uint64 { return c.Put + c.Get + c.Reply + c.Ack + c.Hello }

func (c *TypeCounts) add(d TypeCounts) {
	c.Put += d.Put
	c.Get += d.Get
	c.Reply += d.Reply
	c.Ack += d.Ack
	c.Hello += d.Hello
}

// Traffic counts the messages that passed one NI or one peer NI. Lengths are payload bytes.
type Traffic struct {
	Sent       TypeCounts `json:"sent_stats"`     // messages that left
	Received   TypeCounts `json:"received_stats"` // messages that were accepted
	Dropped    TypeCounts `json:"dropped_stats"`  // messages that arrived and were dropped
	SendLength uint64     `json:"send_length"`    // payload bytes of the messages in Sent
	RecvLength uint64     `json:"recv_length"`    // payload bytes of the messages in Received
	DropLength uint64     `json:"drop_length"`    // payload bytes of the messages in Dropped
	RoutedIn   Routed     `json:"routed_in"`      // messages in Received that were forwarded
	RoutedOut  Routed     `json:"routed_out"`     // messages in Sent that were forwarded
}

// Routed counts messages that were forwarded.
type Routed struct {
	Count  uint64 `json:"route_count"`  // number of messages
	Length uint64 `json:"route_length"` // payload bytes of the messages
}

func (r *Routed) add(s Routed) {
	r.Count += s.Count
	r.Length += s.Length
}

func (t *Traffic) add(u Traffic) {
	t.Sent.add(u.Sent)
	t.Received.add(u.Received)
	t.Dropped.add(u.Dropped)
	t.SendLength += u.SendLength
	t.RecvLength += u.RecvLength
	t.DropLength += u.DropLength
	t.RoutedIn.add(u.RoutedIn)
	t.RoutedOut.add(u.RoutedOut)
}

// Stats are a node's counters (struct lnet_counters_common), under Lustre's
// names.
type Stats struct {
	MsgsAlloc        uint64 `json:"msgs_alloc"`             // messages being sent now; LNet counts those being received too
	MsgsMax          uint64 `json:"msgs_max"`               // highest MsgsAlloc so far; may be too low: of the small messages, only those to one process are counted at a time
	Errors           uint64 `json:"errors"`                 // sends that failed
	SendCount        uint64 `json:"send_count"`             // messages that left
	SendRefused      uint64 `json:"send_refused_count"`     // the part of Errors that failed because too many messages waited for discovery or a connection, or too many answers for a peer to read them
	ResponseTimeouts uint64 `json:"response_timeout_count"` // MDs whose ACK or REPLY did not come in time
	RecvCount        uint64 `json:"recv_count"`             // messages that were accepted
	RouteCount       uint64 `json:"route_count"`            // messages that were forwarded
	DropCount        uint64 `json:"drop_count"`             // messages that arrived and were dropped
	SendLength       uint64 `json:"send_length"`            // payload bytes of the messages in SendCount
	RecvLength       uint64 `json:"recv_length"`            // payload bytes of the messages in RecvCount
	RouteLength      uint64 `json:"route_length"`           // payload bytes of the messages in RouteCount
	DropLength       uint64 `json:"drop_length"`            // payload bytes of the messages in DropCount
	// DropReasons divides DropCount by reason; reasons without drops are left out.
	DropReasons map[string]uint64 `json:"drop_reasons,omitempty"`

	FailureStats
}

// FailureStats are the counters of health and of sending again (struct
// lnet_counters_health).
type FailureStats struct {
	ResendCount       uint64 `json:"resend_count"`          // times that a message was sent again
	SuccessfulResends uint64 `json:"successful_resends"`    // messages that left after they were sent again
	FailedResends     uint64 `json:"failed_resends"`        // messages that did not leave in any of their tries
	LocalInterrupt    uint64 `json:"local_interrupt_count"` // failures: the device was interrupted
	LocalDropped      uint64 `json:"local_dropped_count"`   // failures: the message did not leave the NI
	LocalAborted      uint64 `json:"local_aborted_count"`   // failures: the device gave the message up
	LocalNoRoute      uint64 `json:"local_no_route_count"`  // failures: the NI has no way to the peer
	LocalTimeout      uint64 `json:"local_timeout_count"`   // failures: the message did not leave in time
	LocalError        uint64 `json:"local_error_count"`     // failures: any other reason at this node
	RemoteDropped     uint64 `json:"remote_dropped_count"`  // failures: the peer refused or reset the connection
	RemoteError       uint64 `json:"remote_error_count"`    // failures: the peer broke the protocol
	RemoteTimeout     uint64 `json:"remote_timeout_count"`  // failures: the peer took no bytes for too long
	NetworkTimeout    uint64 `json:"network_timeout_count"` // failures: no connection was made in time
}

// snapshot returns the counters by class; all are zero if c is nil.
func (c *failureCounts) snapshot() (s FailureStats) {
	if c == nil {
		return s
	}
	for class, to := range map[lnd.Failure]*uint64{ // any order: each has a field of its own
		lnd.LocalInterrupt: &s.LocalInterrupt, lnd.LocalDropped: &s.LocalDropped, lnd.LocalAborted: &s.LocalAborted,
		lnd.LocalNoRoute: &s.LocalNoRoute, lnd.LocalTimeout: &s.LocalTimeout, lnd.LocalError: &s.LocalError,
		lnd.RemoteDropped: &s.RemoteDropped, lnd.RemoteError: &s.RemoteError, lnd.RemoteTimeout: &s.RemoteTimeout,
		lnd.NetworkTimeout: &s.NetworkTimeout,
	} {
		*to = c[class].Load()
	}
	return s
}

// stats returns the counters of failures of the node.
func (h *health) stats() FailureStats {
	s := h.failures.snapshot()
	s.ResendCount, s.SuccessfulResends, s.FailedResends = h.resends.tried.Load(), h.resends.successful.Load(), h.resends.failed.Load()
	return s
}

// traffic has the counters of Traffic in atomic form.
type traffic struct {
	sent, received, dropped            [wire.Hello + 1]atomic.Uint64
	sendLength, recvLength, dropLength atomic.Uint64
	routedIn, routedOut                routedCounter
}

// routedCounter has the counters of Routed in atomic form.
type routedCounter struct{ count, length atomic.Uint64 }

func (c *routedCounter) snapshot() Routed {
	return Routed{Count: c.count.Load(), Length: c.length.Load()}
}

// countRouted counts a message that was forwarded, on its way in or out.
func (t *traffic) countRouted(typ wire.MsgType, length int, out bool) {
	c := &t.routedIn
	if out {
		c = &t.routedOut
		t.countSent(typ, length)
	} else {
		t.countReceived(typ, length)
	}
	c.count.Add(1)
	c.length.Add(uint64(length))
}

func (t *traffic) countSent(typ wire.MsgType, length int) {
	t.sent[typ].Add(1)
	if length > 0 {
		t.sendLength.Add(uint64(length))
	}
}

// countDeparted counts inline messages that have left.
func (t *traffic) countDeparted(d *departed) {
	for typ, n := range d.messages {
		if n > 0 {
			t.sent[typ].Add(n)
		}
	}
	if d.bytes > 0 {
		t.sendLength.Add(uint64(d.bytes))
	}
}

func (t *traffic) countReceived(typ wire.MsgType, length int) {
	t.received[typ].Add(1)
	if length > 0 {
		t.recvLength.Add(uint64(length))
	}
}

// countDropped counts a dropped message. Types that do not exist, which a peer may send, count as
// HELLO: the statistics have no row for them.
func (t *traffic) countDropped(typ wire.MsgType, length uint32) {
	t.dropped[min(typ, wire.Hello)].Add(1)
	t.dropLength.Add(uint64(length))
}

func (t *traffic) snapshot() Traffic {
	counts := func(c *[wire.Hello + 1]atomic.Uint64) TypeCounts {
		return TypeCounts{
			Put: c[wire.Put].Load(), Get: c[wire.Get].Load(), Reply: c[wire.Reply].Load(),
			Ack: c[wire.Ack].Load(), Hello: c[wire.Hello].Load(),
		}
	}
	return Traffic{
		Sent: counts(&t.sent), Received: counts(&t.received), Dropped: counts(&t.dropped),
		SendLength: t.sendLength.Load(), RecvLength: t.recvLength.Load(), DropLength: t.dropLength.Load(),
		RoutedIn: t.routedIn.snapshot(), RoutedOut: t.routedOut.snapshot(),
	}
}

// gauge counts messages in flight and remembers the maximum.
type gauge struct{ now, most atomic.Int64 }

func (g *gauge) inc() { g.add(1) }

func (g *gauge) add(k int) { g.reach(g.now.Add(int64(k))) }

// reach notes that n messages are in flight, which may be a new maximum.
func (g *gauge) reach(n int64) {
	for {
		most := g.most.Load()
		if n <= most || g.most.CompareAndSwap(most, n) {
			return
		}
	}
}

func (g *gauge) dec() { g.now.Add(-1) }
