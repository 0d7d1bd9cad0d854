package softroce

import (
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/machine"
)

// rcConfig is what the two ends of a connection have agreed upon, and the memory and
// allowance that they use.
type rcConfig struct {
	ID            uint64 // ID in the completions of receives
	QPN, DestQP   ibta.QPN
	MTU           int        // payload bytes of a full packet
	SendPSN       ibta.PSN   // PSN of the first request
	RecvPSN       ibta.PSN   // PSN of the peer's first request
	MaxSends      int        // most work requests that are not completed
	MaxWindow     int        // most packets in flight; at least 1
	Allowance     *allowance // packets in flight that queue pairs share; nil: no bound
	MaxMessage    int        // longest SEND that is received: the size of a buffer
	AckTimeout    time.Duration
	RetryCount    int // number of timeouts in a row that are allowed
	RNRRetryCount int // RNR NAKs in a row that are allowed; 7: no limit
	Memory        memory
	Pool          pool
}

// memory are the regions that a peer may write to.
type memory interface {
	// Check says whether [address, address+length) of a region may be written.
	Check(key ibta.RKey, address uint64, length uint32) bool
	// Write writes b to address in a region. It returns false if that is no longer allowed.
	Write(key ibta.RKey, address uint64, b []byte) bool
}

// pool provides receive buffers.
type pool interface {
	Take() (verbs.Buffer, bool)
	Return(verbs.Buffer)
}

// rcInput is the input of a step of an rc; the zero value means that the timer is due.
type rcInput struct {
	Packets []ibta.Packet  // packets that arrived, in order
	Post    []verbs.SendWR // work requests to post
	Later   bool           // send nothing yet: another step follows soon
	Yield   bool           // free the receive buffer of a SEND that makes no progress
	Fail    verbs.Status   // the connection is over: posted work requests are Flushed
	Away    away           // absences of the device until now; set when a timer is due
}

// rcOutput is the output of a step of an rc: first completions, then packets.
type rcOutput struct {
	Completions []verbs.Completion
	Packets     []rcPacket
	pieces      [][]byte
	Err         error        // error of Post: none of the work requests was taken
	Failed      verbs.Status // why the connection is over, from this step on
	Starved     bool         // a SEND found no receive buffer
}

// rcPacket is a packet to send. The method Payload of the output returns its payload, which lies in
// the memory of the work request until that completes; the packet's own field Payload is not used.
type rcPacket struct {
	ibta.Packet
	from, to int
}

// Payload returns the pieces of the payload of a packet.
func (o *rcOutput) Payload(p *rcPacket) [][]byte { return o.pieces[p.from:p.to] }

// Reset empties o, but keeps its memory for reuse.
func (o *rcOutput) Reset() {
	clear(o.pieces)
	clear(o.Completions)
	*o = rcOutput{Completions: o.Completions[:0], Packets: o.Packets[:0], pieces: o.pieces[:0]}
}

// TransportStats count irregular packets and events of reliable connections.
type TransportStats struct {
	Duplicates uint64 // requests that arrived repeatedly
	Ahead      uint64 // requests that arrived before an earlier one
	NoBuffer   uint64 // SENDs that found no receive buffer
	Refused    uint64 // requests that were answered with a fatal NAK
	Ghosts     uint64 // answers to packets that are not in flight
	Resent     uint64 // packets that were sent again
	Probes     uint64 // times that the oldest packet was sent again after silence
	Timeouts   uint64 // ACK timeouts, after each of which packets are sent again
	Naks       uint64 // NAKs received for a missing packet
	RNRNaks    uint64 // RNR NAKs received
	Foreign    uint64 // packets that do not belong to reliable connections
}

// rc is the transport of one reliable connection: a machine.
type rc struct {
	cfg      rcConfig
	failed   verbs.Status // why the connection failed; Success while it works
	counters TransportStats

	sends sendQueue
	req   requester
	resp  responder
}

var _ machine.Machine[rcInput, rcOutput] = (*rc)(nil)

func newRC(cfg rcConfig) *rc {
	c := &rc{cfg: cfg}
	c.sends.init(cfg)
	c.req.init(cfg)
	c.resp.expected = cfg.RecvPSN
	return c
}

// Step handles the input in (machine.Machine).
func (c *rc) Step(now time.Duration, in rcInput, out *rcOutput) time.Duration {
	for i := range in.Packets {
		if c.failed != verbs.Success {
			break
		}
		if p := &in.Packets[i]; p.OpCode == ibta.Acknowledge {
			c.answered(now, p, out)
		} else {
			c.request(p, out)
		}
	}
	if in.Fail != verbs.Success {
		c.fail(in.Fail, out)
	}
	if in.Yield {
		c.resp.yield(c.cfg.Pool)
	}
	if len(in.Post) > 0 {
		c.post(in.Post, out)
	}
	if c.failed != verbs.Success {
		c.acknowledge(out) // send the NAK that gives the reason
		return machine.Never
	}
	if !in.Later && !(len(in.Post) > 0 && c.gathers()) {
		c.expire(now, in.Away, out)
		c.transmit(now, out)
	}
	c.acknowledge(out)
	if c.failed != verbs.Success {
		return machine.Never
	}
	return c.req.wake(now, c.outstanding())
}

// fail ends the connection: work requests that are not done are flushed. The caller has
// completed the one that failed, if there is one.
func (c *rc) fail(why verbs.Status, out *rcOutput) {
	if c.failed != verbs.Success {
		return
	}
	c.failed, out.Failed = why, why
	c.resp.drop(c.cfg.Pool)
	c.charge(0)
	for c.sends.len() > 0 {
		c.complete(c.sends.pop(), verbs.Flushed, out)
	}
}

// complete appends the completion of w with status s.
func (c *rc) complete(w *sendWork, s verbs.Status, out *rcOutput) {
	if w.signaled || s != verbs.Success {
		out.Completions = append(out.Completions, verbs.Completion{ID: w.id, QPN: uint32(c.cfg.QPN), Op: w.op, Status: s})
	}
}

// post queues all work requests of list, or none.
func (c *rc) post(list []verbs.SendWR, out *rcOutput) {
	if c.failed != verbs.Success {
		for i := range list {
			out.Completions = append(out.Completions, verbs.Completion{
				ID: list[i].ID, QPN: uint32(c.cfg.QPN), Op: list[i].Op, Status: verbs.Flushed,
			})
		}
		return
	}
	if c.sends.len()+len(list) > c.cfg.MaxSends {
		out.Err = verbs.ErrFull
		return
	}
	for i := range list {
		c.sends.push(&list[i])
	}
}

// outstanding reports whether packets are in flight.
func (c *rc) outstanding() bool { return c.req.next.Sub(c.req.unacked) > 0 }
