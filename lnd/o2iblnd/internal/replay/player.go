package replay

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"ulnet/lnd/verbs/ibta"
)

// The errors of a Player besides those of Differences and acknowledgements.
var (
	ErrExtra  = errors.New("node sends what is not in the recording")
	ErrEarly  = errors.New("node sends before what precedes it in the recording")
	ErrGap    = errors.New("node leaves out a packet")
	ErrRepeat = errors.New("node repeats a packet with other bytes")
)

// maxInbox bounds what arrives and is not looked at yet.
const maxInbox = 1 << 14

// Player plays the node Host of a Script against a node under test, which is the
// other. It does three things of its own:
//
//   - It acknowledges packets where the node asks for it. Where the recorded node
//     asked too that gives the recorded ACK; the count of messages in it is that of
//     the messages which really came.
//   - It repeats the transaction ids of the node's CM messages as an answer must.
//   - It takes acknowledgements where the node gives them, and checks what they say:
//     each recorded one must have been given, or a later one, before the
//     recording goes on.
type Player struct {
	Script *Script
	Host   netip.Addr
	// Send sends a packet to the node. It may call Arrived.
	Send func(Datagram)
	// Begin is called when the turn of a packet of the node has come, and it has not
	// come yet: with its place in the script. Who knows what makes the node send it
	// does that. It may call Arrived.
	Begin func(at int)
	// Elapsed is the time since the play began. If it is set, pauses of the recording are
	// kept: before packets of the host and before Begin.
	Elapsed func() time.Duration
	Differences

	// Counts of what a recording does not have, and a node may do.
	Repeated int // packets that came again
	OwnAcks  int // ACKs that the player gave where none is recorded

	mu    sync.Mutex // guards inbox
	inbox []Datagram

	err   error
	at    int // next packet of the script
	done  map[int]bool
	begun int                 // place of the packet behind the last one that Begin was called for
	since time.Duration       // when the packet before the next one was done
	host  map[ibta.QPN]*flow  // requests to the node, by its queue pair
	node  map[ibta.QPN]*flow  // requests of the node, by the host's queue pair
	cms   []int               // CM messages of the node to come
	last  map[string]bool     // CM messages that came
	acks  map[ackName]*Packet // recorded ACKs of the host
	where map[int]place       // where the recorded WRITEs of the node go
}

// ackName names an ACK.
type ackName struct {
	to  ibta.QPN
	psn ibta.PSN
}

// Prepare gets ready to play. It is called once, before all else.
func (p *Player) Prepare() {
	p.done, p.last, p.acks, p.where = map[int]bool{}, map[string]bool{}, map[ackName]*Packet{}, map[int]place{}
	p.host, p.node = map[ibta.QPN]*flow{}, map[ibta.QPN]*flow{}
	p.Differences.init()
	conns := p.Script.Conns()
	for i := range conns {
		c := &conns[i]
		own := c.side(p.Host)
		p.host[c.QPN[1-own]] = newFlow(c, own)
		p.node[c.QPN[own]] = newFlow(c, 1-own)
	}
	places := map[ibta.QPN]*follower{}
	for i := range p.Script.Packets {
		q := &p.Script.Packets[i]
		own := q.From.Addr() == p.Host
		switch {
		case own && q.IsAck():
			p.acks[ackName{q.DestQP, q.PSN}] = q
		case own || q.IsAck():
		case q.CM != nil:
			p.cms = append(p.cms, i)
		default:
			p.node[q.DestQP].places[q.PSN] = i
			if places[q.DestQP] == nil {
				places[q.DestQP] = new(follower)
			}
			if q.OpCode.IsWrite() {
				p.where[i], _ = places[q.DestQP].follow(&q.Packet)
			}
		}
	}
}

// Arrived takes a packet of the node. Its bytes are copied.
func (p *Player) Arrived(d Datagram) {
	d.Bytes = bytes.Clone(d.Bytes)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.inbox) < maxInbox {
		p.inbox = append(p.inbox, d)
	}
}

// Step takes what has arrived and sends what is due, and reports whether anything
// happened. After an error nothing does.
func (p *Player) Step() (busy bool) {
	for p.err == nil {
		p.mu.Lock()
		list := p.inbox
		p.inbox = nil
		p.mu.Unlock()
		for i := range list {
			if p.err == nil {
				p.err = p.arrived(list[i])
			}
		}
		moved := p.err == nil && p.advance()
		if len(list) == 0 && !moved {
			break
		}
		busy = true
	}
	return busy
}

// Done reports whether the recording is over.
func (p *Player) Done() bool { return p.at == len(p.Script.Packets) }

// Err returns the first difference.
func (p *Player) Err() error { return p.err }

// Waiting says what the player waits for.
func (p *Player) Waiting() string {
	if p.Done() {
		return "nothing"
	}
	return p.Script.Packets[p.at].String()
}

// advance plays as far as the recording can go on, and reports whether it went.
func (p *Player) advance() bool {
	from := p.at
	for ; p.err == nil && !p.Done(); p.pass() {
		q := &p.Script.Packets[p.at]
		if q.From.Addr() == p.Host {
			if q.IsAck() {
				continue
			}
			if p.Pause() > 0 {
				break
			}
			p.play(q)
			continue
		}
		if p.done[p.at] || q.IsAck() && p.acknowledged(q) {
			continue
		}
		if q.IsAck() || p.begun > p.at || p.Pause() > 0 {
			break
		}
		p.begun = p.at + 1
		p.Begin(p.at)
		return true // it has perhaps sent something
	}
	return p.at != from
}

// pass goes on to the next packet.
func (p *Player) pass() {
	p.at++
	if p.Elapsed != nil {
		p.since = p.Elapsed()
	}
}

// Pause returns how long the recording rests before the next packet, from now on.
// Rests of less than a millisecond do not count.
func (p *Player) Pause() time.Duration {
	if p.Elapsed == nil || p.at == 0 || p.Done() || p.begun > p.at {
		return 0
	}
	rest := p.Script.Packets[p.at].At - p.Script.Packets[p.at-1].At
	if rest < time.Millisecond {
		return 0
	}
	return max(0, p.since+rest-p.Elapsed())
}

// resting reports whether nothing but the pause is waited for.
func (p *Player) resting() bool {
	q := &p.Script.Packets[p.at]
	return q.From.Addr() == p.Host || !p.done[p.at] && !q.IsAck()
}

// acknowledged reports whether the node has acknowledged what a recorded ACK does.
func (p *Player) acknowledged(ack *Packet) bool {
	f := p.flowOfAck(ack.DestQP, p.host)
	return f != nil && f.acked.Sub(ack.PSN) > 0
}

// flowOfAck returns the flow whose acknowledgements go to a queue pair.
func (p *Player) flowOfAck(to ibta.QPN, flows map[ibta.QPN]*flow) *flow {
	for _, f := range flows {
		if f.back == to {
			return f
		}
	}
	return nil
}

// play sends a packet of the host.
func (p *Player) play(q *Packet) {
	d := p.Substitute(q)
	if f := p.host[q.DestQP]; f != nil && q.CM == nil {
		f.send(q)
	}
	p.Send(d)
}

// arrived takes a packet of the node.
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

// arrivedCM takes a message of the connection manager. One that came before may
// come again: it was not answered in time.
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

// turn returns an error if the host has still to send something before packet i.
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
	want.Migrated = q.Migrated // as allowed, see Allowed
	return p.Check(&want, q)
}

// arrivedRequest takes a SEND or WRITE.
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
	i, ok := f.places[q.PSN]
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
		return fmt.Errorf("%w: %d", ErrWindow, f.next.Sub(f.acked))
	}
	if q.AckReq {
		p.answer(f, q.PSN)
	}
	return nil
}

// again takes a request that came before. It may ask for an acknowledgement where
// it did not.
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

// answer acknowledges, as the recorded node did if it did.
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

// some returns some packet of the host, for its addresses.
func (p *Player) some() *Packet {
	for i := range p.Script.Packets {
		if q := &p.Script.Packets[i]; q.From.Addr() == p.Host && q.CM == nil {
			return q
		}
	}
	return &Packet{}
}

// Rest returns an error if something is left to be said: packets of the host that
// the node has not acknowledged though they asked for it, or operations.
func (p *Player) Rest() error {
	if p.err != nil || !p.Done() {
		return errors.Join(p.err, fmt.Errorf("waiting for %s", p.Waiting()))
	}
	for _, f := range p.host {
		if f.must.Sub(f.acked) > 0 {
			return fmt.Errorf("%w: PSN %#x asked for one", ErrAck, f.must.Add(-1))
		}
	}
	return nil
}
