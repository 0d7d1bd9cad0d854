package replay

import (
	"errors"
	"fmt"

	"ulnet/lnd/verbs/ibta"
)

// Errors in the RoCE ACKs of the node.
var (
	ErrAck = errors.New("acknowledgement is wrong")
	// errWindow means that more packets are in flight than a kernel would have.
	errWindow = errors.New("too many packets are not acknowledged")
)

// mostUnacknowledged is how many packets software RoCE of Linux has in flight at most (rocev2
// §14), so no kernel was ever given more.
const mostUnacknowledged = 128

// flow is the RoCE requests from one side of a connection to the other, and the RoCE ACKs that come
// back.
type flow struct {
	conn      *Conn
	to        ibta.QPN // queue pair that the requests go to
	back      ibta.QPN // queue pair that the RoCE ACKs go to
	next      ibta.PSN
	completed map[ibta.PSN]uint32 // by PSN of a packet: number of messages that are complete with this packet
	count     uint32              // number of messages so far
	base      uint32              // MSN before the first message

	acked   ibta.PSN         // PSN after that of the last packet that a RoCE ACK has acknowledged
	must    ibta.PSN         // PSN after that of the last packet that requested a RoCE ACK
	indexes map[ibta.PSN]int // by PSN of a packet: its index in the script
	sent    map[ibta.PSN][]byte
	written follower
}

func newFlow(c *Conn, from int) *flow {
	return &flow{
		conn: c, to: c.QPN[1-from], back: c.QPN[from], next: c.PSN[from], acked: c.PSN[from], must: c.PSN[from], base: c.MSN[1-from],
		completed: map[ibta.PSN]uint32{}, indexes: map[ibta.PSN]int{}, sent: map[ibta.PSN][]byte{},
	}
}

// send notes that a request was sent.
func (f *flow) send(p *Packet) {
	if p.OpCode.IsLast() {
		f.count++
	}
	f.completed[p.PSN], f.sent[p.PSN] = f.count, p.Bytes
	f.next = p.PSN.Add(1)
	if p.AckReq {
		f.must = f.next
	}
}

// msn returns the count of messages (MSN) that the RoCE ACK of the packet with this PSN must have.
func (f *flow) msn(psn ibta.PSN) uint32 { return (f.base + f.completed[psn]) & (1<<24 - 1) }

// acknowledge checks an ACK: the packet must be an ACK, name a packet that was sent, not go back, and
// count the messages that the packets up to there complete.
func (f *flow) acknowledge(p *ibta.Packet) error {
	switch {
	case p.AETH.Syndrome != ibta.AckUnlimited:
		return fmt.Errorf("%w: %v", ErrAck, p.AETH.Syndrome)
	case !f.known(p.PSN) || p.PSN.Sub(f.acked) < -1:
		return fmt.Errorf("%w: PSN %#x, of %#x to %#x that were not acknowledged", ErrAck, p.PSN, f.acked, f.next.Add(-1))
	case p.AETH.MSN != f.msn(p.PSN):
		return fmt.Errorf("%w: %d messages are complete with PSN %#x, want %d", ErrAck, p.AETH.MSN, p.PSN, f.msn(p.PSN))
	}
	f.acked = p.PSN.Add(1)
	return nil
}

// known reports whether a packet was sent by this flow.
func (f *flow) known(psn ibta.PSN) bool {
	_, ok := f.sent[psn]
	return ok
}

// answer returns the ACK for the packet with this PSN. The caller may set further fields of the ACK.
func (f *flow) answer(psn ibta.PSN) ibta.Packet {
	return ibta.Packet{
		BTH:  ibta.BTH{OpCode: ibta.Acknowledge, PKey: ibta.DefaultPKey, DestQP: f.back, PSN: psn},
		AETH: ibta.AETH{Syndrome: ibta.AckUnlimited, MSN: f.msn(psn)},
	}
}
