package capture

import (
	"slices"
	"time"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// roceFlow puts the requests of one direction of a connection in order and
// makes messages of them.
//
// A capture also has packets that the responder drops, and their retransmissions. A
// packet that follows a gap waits until the missing packets come, until a
// RoCE ACK shows that the responder has them, or until too many packets have waited or one for too long.
type roceFlow struct {
	c    *roceConn
	side Side

	known bool // whether next has a value
	next  ibta.PSN
	ahead []*roceFrame // packets that came early, in order of their PSN

	moved  time.Duration // when the flow last went on, on the clock: with packets in order, or past missing packets that the responder has acknowledged
	told   bool          // the capture has acknowledgements of the responder, and acked is known
	acked  ibta.PSN      // the responder has all packets up to this one
	toldAt time.Duration // when that was captured, on the clock
	due    time.Duration // when the missing packets up to the one with the PSN sure will be given up, on the clock; 0: none will
	sure   ibta.PSN
	listed bool // is one of roce.due

	recent [64]ibta.PSN // PSNs of the latest packets that requested a RoCE ACK
	count  int

	buf     []byte // the bytes so far of a SEND of several packets
	sending bool
	broken  error // why the SEND in progress cannot be completed, or nil
	write   *Transfer
	address uint64 // the address at which the WRITE in progress continues
	writing bool   // a WRITE is in progress, of a known transfer or not
}

// arrive processes a request packet, or keeps it if packets before it are missing.
func (fl *roceFlow) arrive(f *roceFrame) {
	if f.AckReq {
		fl.recent[fl.count%len(fl.recent)] = f.PSN
		fl.count++
	}
	if !fl.known {
		fl.known, fl.next = true, f.PSN
	}
	switch diff := f.PSN.Sub(fl.next); {
	case diff < 0:
		fl.c.r.d.counts.Repeated++
	case diff == 0:
		fl.moved = fl.c.r.d.clock.now
		fl.take(f)
		fl.catchUp()
	default:
		fl.wait(f)
	}
}

// pass skips a packet with an opcode that is not understood. Only its PSN is used, so that the
// packets after it are not taken to be out of order.
func (fl *roceFlow) pass(f *roceFrame) {
	if fl.known && f.PSN == fl.next {
		fl.abandon(f.err)
		fl.next = f.PSN.Add(1)
		fl.catchUp()
	}
}

// asked reports whether a packet with this PSN requested a RoCE ACK.
func (fl *roceFlow) asked(psn ibta.PSN) bool {
	return slices.Contains(fl.recent[:min(fl.count, len(fl.recent))], psn)
}

// take processes a packet whose PSN is the next one in order.
func (fl *roceFlow) take(f *roceFrame) {
	if fl.next = f.PSN.Add(1); fl.next.Sub(fl.acked) > largestAhead {
		fl.told = false // the capture lacks later acknowledgements
	}
	if f.OpCode.IsFirst() {
		fl.abandon(ErrLost)
	}
	if f.OpCode.IsWrite() {
		fl.takeWrite(f)
		return
	}
	if f.OpCode.IsFirst() {
		fl.sending = true
	}
	if !fl.sending {
		return // the first packet of this message is not in the capture
	}
	if f.gap > 0 {
		fl.broken = ErrCut
	}
	if len(fl.buf)+len(f.Payload) > kib.MaxMsgSize {
		fl.broken = kib.ErrTooLong
	} else {
		fl.buf = append(fl.buf, f.Payload...)
	}
	if f.OpCode.IsLast() {
		fl.c.message(fl, f)
		fl.sending, fl.buf, fl.broken = false, fl.buf[:0], nil
	}
}

// abandon reports the SEND in progress as something that cannot be understood.
func (fl *roceFlow) abandon(cause error) {
	if fl.sending {
		fl.c.r.d.deliver(&Record{
			Kind: Unknown, Stamp: fl.c.r.d.at, Conn: &fl.c.Conn, From: fl.side,
			Length: uint64(len(fl.buf)), Raw: fl.buf, Err: cause, RoCE: &RoCE{},
		})
	}
	fl.sending, fl.buf, fl.broken = false, fl.buf[:0], nil
	fl.writing, fl.write = false, nil
}

// takeWrite processes a packet of an RDMA WRITE.
func (fl *roceFlow) takeWrite(f *roceFrame) {
	if f.OpCode.IsFirst() {
		fl.writing, fl.address = true, f.RETH.Address
		if fl.write = fl.c.target(fl.side, f.RETH); fl.write != nil {
			fl.write.Writes++
		}
	}
	if fl.write != nil && fl.writing {
		fl.c.moved(fl.write, fl.address, f)
	}
	fl.address += uint64(len(f.Payload) + f.gap)
	if f.OpCode.IsLast() {
		fl.writing, fl.write = false, nil
	}
}

// acknowledged processes an ACK or NAK that the given side sent. It is about packets of the other
// side.
func (c *roceConn) acknowledged(f *roceFrame, side Side) {
	psn := f.PSN
	if s := f.AETH.Syndrome; !s.IsAck() {
		psn = psn.Add(-1) // a NAK acknowledges the packets before its PSN
	}
	c.flows[side.Other()].acknowledged(psn)
}
