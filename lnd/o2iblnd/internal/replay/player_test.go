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

// The errors of a Player, besides those of Differences and ErrAck.
var (
	ErrExtra  = errors.New("node sends what is not in the recording")
	ErrEarly  = errors.New("node sends before what precedes it in the recording")
	ErrGap    = errors.New("node leaves out a packet")
	ErrRepeat = errors.New("node repeats a packet with other bytes")
)

// maxInbox bounds the packets that have arrived and were not handled yet.
const maxInbox = 1 << 14

// Player plays the node Host of a Script against a node under test, which takes the place of the
// other recorded node. The player itself decides three things:
//
//   - It sends a RoCE ACK for each packet in which the node requests one. Where the recorded
//     node requested one too, it sends the recorded ACK, with the number of messages that the
//     node under test has really sent.
//   - Its answers to CM messages repeat the transaction ids that the node has chosen.
//   - It accepts the node's RoCE ACKs at other points than in the recording, and checks them:
//     before the recording goes on, the node must have sent each recorded ACK, or one for a
//     later packet.
type Player struct {
	Script *Script
	Host   netip.Addr
	// Send sends a packet to the node. It may call Arrived.
	Send func(Datagram)
	// Begin is called when the next packet of the script is one that the node has not sent
	// yet, with its index. It starts the operation that makes the node send the packet, if
	// there is one, and may call Arrived.
	Begin func(at int)
	// Elapsed is the time since the play began. If it is set, pauses of the recording are
	// kept: before packets of the host and before Begin.
	Elapsed func() time.Duration
	Differences

	// Counts of events that a node may cause and that are in no recording.
	Repeated int // number of packets that the node sent again
	OwnAcks  int // ACKs that the player sent although the recording has none in their place

	mu    sync.Mutex // guards inbox
	inbox []Datagram

	err   error
	at    int // index of the next packet of the script
	done  map[int]bool
	begun int                 // index after that of the last packet for which Begin was called
	since time.Duration       // when the player came to the packet whose index is in the field at
	host  map[ibta.QPN]*flow  // the host's requests to the node, by the node's queue pair
	node  map[ibta.QPN]*flow  // requests of the node, by the host's queue pair
	cms   []int               // indexes of the CM messages that the node has to send
	last  map[string]bool     // payloads of the CM messages that the node has sent, by which repetitions are recognized
	acks  map[ackName]*Packet // the ACKs that the host sent in the recording
	where map[int]target      // targets of the RDMA WRITEs that the node sent
}

// ackName identifies an ACK of the recording.
type ackName struct {
	to  ibta.QPN
	psn ibta.PSN
}

// Prepare gets ready to play. It is called once, before all else.
func (p *Player) Prepare() {
	p.done, p.last, p.acks, p.where = map[int]bool{}, map[string]bool{}, map[ackName]*Packet{}, map[int]target{}
	p.host, p.node = map[ibta.QPN]*flow{}, map[ibta.QPN]*flow{}
	p.Differences.init()
	conns := p.Script.Conns()
	for i := range conns {
		c := &conns[i]
		own := c.side(p.Host)
		p.host[c.QPN[1-own]] = newFlow(c, own)
		p.node[c.QPN[own]] = newFlow(c, 1-own)
	}
	flows := map[ibta.QPN]*follower{}
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
			p.node[q.DestQP].indexes[q.PSN] = i
			if flows[q.DestQP] == nil {
				flows[q.DestQP] = new(follower)
			}
			if q.OpCode.IsWrite() {
				p.where[i], _ = flows[q.DestQP].follow(&q.Packet)
			}
		}
	}
}

// Arrived queues a packet of the node for the next Step. It copies the bytes of the packet.
func (p *Player) Arrived(d Datagram) {
	d.Bytes = bytes.Clone(d.Bytes)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.inbox) < maxInbox {
		p.inbox = append(p.inbox, d)
	}
}

// Step takes what has arrived and sends what is due, and reports whether anything happened. After
// an error it does nothing.
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

// Err returns the first difference from the recording.
func (p *Player) Err() error { return p.err }

// Waiting says what packet of the node the player waits for.
func (p *Player) Waiting() string {
	if p.Done() {
		return "nothing"
	}
	return p.Script.Packets[p.at].String()
}

// advance plays as far as the recording can go on, and reports whether it went on at all.
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
		return true // the node may have sent a packet meanwhile
	}
	return p.at != from
}

// pass goes on to the next packet of the script.
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

// resting reports whether the player waits only for the end of a recorded pause.
func (p *Player) resting() bool {
	q := &p.Script.Packets[p.at]
	return q.From.Addr() == p.Host || !p.done[p.at] && !q.IsAck()
}

// acknowledged reports whether the node has acknowledged what a recorded ACK acknowledges.
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

// play sends the host's packet q.
func (p *Player) play(q *Packet) {
	d := p.Substitute(q)
	if f := p.host[q.DestQP]; f != nil && q.CM == nil {
		f.send(q)
	}
	p.Send(d)
}

// Rest returns an error if the script has not been played to its end, or if a packet of the host has
// requested an ACK that the node has not sent.
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
