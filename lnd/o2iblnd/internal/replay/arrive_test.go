package replay

import (
	"bytes"
	"fmt"
	"net/netip"

	"ulnet/lnd/verbs/ibta"
)

// arrived compares a packet that the node has sent with the recording.
func (p *Player) arrived(d Datagram) error {
	path := ibta.NewPath(d.From, d.To)
	_, good := path.CheckAny(d.Bytes)
	if !good {
		return fmt.Errorf("%w: % x", ErrICRC, d.Bytes)
	}
	q, err := Parse(d)
	if err != nil {
		return fmt.Errorf("%w: % x", err, d.Bytes)
	}
	switch node := p.Script.Other(p.Host); {
	case d.From.Addr() != node || d.To != netip.AddrPortFrom(p.Host, ibta.Port):
		err = fmt.Errorf("%w: from %v to %v", ErrExtra, d.From, d.To)
	case q.CM != nil:
		err = p.arrivedCM(&q)
	case q.IsAck():
		err = p.arrivedAck(&q)
	default:
		err = p.arrivedRequest(&q)
	}
	if err != nil {
		return fmt.Errorf("%v of the node: %w", &q, err)
	}
	return nil
}

// arrivedCM checks a message of the connection manager. The node may repeat a message that was not
// answered in time.
func (p *Player) arrivedCM(q *Packet) error {
	if p.last[string(q.Payload)] {
		p.Repeated++
		return nil
	}
	if len(p.cms) == 0 {
		return fmt.Errorf("%w: CM %v", ErrExtra, q.CM.MAD.Attribute)
	}
	i := p.cms[0]
	if err := p.turn(i); err != nil {
		return err
	}
	if err := p.Check(&p.Script.Packets[i], q); err != nil {
		return err
	}
	p.cms, p.last[string(q.Payload)], p.done[i] = p.cms[1:], true, true
	return nil
}

// turn returns an error if there is a packet of the host before packet i that the player has not sent yet.
func (p *Player) turn(i int) error {
	for j := p.at; j < i; j++ {
		if q := &p.Script.Packets[j]; q.From.Addr() == p.Host && !q.IsAck() {
			return fmt.Errorf("%w: %v, before it %v of the host", ErrEarly, &p.Script.Packets[i], q)
		}
	}
	return nil
}

func (p *Player) arrivedAck(q *Packet) error {
	f := p.flowOfAck(q.DestQP, p.host)
	if f == nil {
		return fmt.Errorf("%w: to queue pair %#x", ErrExtra, q.DestQP)
	}
	if err := f.acknowledge(&q.Packet); err != nil {
		return err
	}
	want := Packet{Packet: f.answer(q.PSN)}
	want.Migrated = q.Migrated // the migration bit may differ from the recorded one, see the list allowed
	return p.Check(&want, q)
}

// arrivedRequest checks a packet of a SEND or RDMA WRITE of the node.
func (p *Player) arrivedRequest(q *Packet) error {
	f := p.node[q.DestQP]
	if f == nil {
		return fmt.Errorf("%w: to queue pair %#x", ErrExtra, q.DestQP)
	}
	switch d := q.PSN.Sub(f.next); {
	case d > 0:
		return fmt.Errorf("%w: PSN %#x, want %#x", ErrGap, q.PSN, f.next)
	case d < 0:
		return p.again(f, q)
	}
	i, ok := f.indexes[q.PSN]
	if !ok {
		return fmt.Errorf("%w: PSN %#x", ErrExtra, q.PSN)
	}
	if err := p.turn(i); err != nil {
		return err
	}
	if err := p.checkWrite(f, i, q); err != nil {
		return err
	}
	if err := p.Check(&p.Script.Packets[i], q); err != nil {
		return err
	}
	f.send(q)
	p.done[i] = true
	if f.next.Sub(f.acked) > mostUnacknowledged {
		return fmt.Errorf("%w: %d", errWindow, f.next.Sub(f.acked))
	}
	if q.AckReq {
		p.answer(f, q.PSN)
	}
	return nil
}

// again handles a RoCE request that the node has sent before. The repetition may request an ACK even
// if the first sending did not.
func (p *Player) again(f *flow, q *Packet) error {
	const ackReq = 8
	was := bytes.Clone(f.sent[q.PSN])
	if was == nil {
		return fmt.Errorf("%w: PSN %#x", ErrExtra, q.PSN)
	}
	was[ackReq] = q.Bytes[ackReq]
	if n := len(was) - ibta.ICRCSize; len(q.Bytes) != len(was) || !bytes.Equal(was[:n], q.Bytes[:n]) {
		return fmt.Errorf("%w: PSN %#x", ErrRepeat, q.PSN)
	}
	p.Repeated++
	p.answer(f, f.next.Add(-1))
	return nil
}

// answer sends the recorded RoCE ACK if its MSN is right, else one that the player makes.
func (p *Player) answer(f *flow, psn ibta.PSN) {
	f.acked = psn.Add(1)
	recorded := p.acks[ackName{f.back, psn}]
	if recorded != nil && recorded.AETH.MSN == f.msn(psn) {
		p.Send(recorded.Datagram)
		return
	}
	if recorded == nil {
		p.OwnAcks++
		recorded = p.some()
	}
	a := Packet{Datagram: recorded.Datagram, Packet: f.answer(psn)}
	a.seal()
	p.Send(a.Datagram)
}

// some returns any packet of the host: the caller needs its addresses.
func (p *Player) some() *Packet {
	for i := range p.Script.Packets {
		if q := &p.Script.Packets[i]; q.From.Addr() == p.Host && q.CM == nil {
			return q
		}
	}
	return &Packet{}
}
