package scollsim

import (
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnet/machine"
	"ulnet/scoll/engine"
)

// Kind is the kind of a message between bare machines.
type Kind uint8

// The kinds of messages: PUTs, and a GET with its REPLY.
const (
	Request Kind = iota
	Reply
	Progress // how much of pipelined bulk data the parent has
	Get
	Data
)

// headerSize is the size of LNet's header in bytes.
const headerSize = 72

// message is a message between bare machines. It is immutable once sent.
type message struct {
	fields
	data    []byte // the header, or a list of members
	trailer []byte
	payload []byte // payload of the service's reply
}

// fields are the parts of a message that have a fixed size, as in a recording.
type fields struct {
	Kind        Kind
	List        bool // for Get and Data: the message is about the list of members, not about bulk data
	Bits        uint64
	Offset      uint64 // offset in the bulk data or the list
	Length      uint64 // length of bulk data, which itself is not simulated
	ID          engine.RequestID
	Incarnation uint64 // incarnation of the node that fetches
}

func (m *message) size() int {
	size := headerSize + len(m.data) + len(m.trailer) + len(m.payload)
	if m.Kind == Data && !m.List {
		size += int(m.Length)
	}
	return size
}

// hash is a digest of a message.
func hash(p **message) uint64 {
	m := *p
	if m == nil {
		return 0
	}
	h := kit.Mix(uint64(m.Kind)+1, m.Bits)
	h = kit.Mix(kit.Mix(h, m.Length+uint64(m.ID)), m.Offset)
	for _, b := range [][]byte{m.data, m.trailer, m.payload} {
		h = kit.Digest(h, b)
	}
	return h
}

// port sends the messages of a node: one in each interval of Config.Overhead.
type port struct {
	queue []sim.Send[*message]
	free  time.Duration // when the next message may be sent
}

// put queues a message, or sends it at once if there is no overhead.
func (p *port) put(to sim.NodeID, m *message, overhead time.Duration, out *sim.Output[*message]) {
	s := sim.Send[*message]{To: to, Msg: m, Size: m.size(), Priority: m.Kind <= Progress}
	if overhead <= 0 {
		out.Sends = append(out.Sends, s)
		return
	}
	p.queue = append(p.queue, s)
}

// flush sends the message that is due, and returns when the next one is.
func (p *port) flush(now, overhead time.Duration, out *sim.Output[*message]) (wake time.Duration) {
	if len(p.queue) == 0 {
		return machine.Never
	}
	if p.free <= now {
		out.Sends = append(out.Sends, p.queue[0])
		p.queue = p.queue[1:]
		p.free = now + overhead
	}
	if len(p.queue) == 0 {
		p.queue = nil
		return machine.Never
	}
	return p.free
}
