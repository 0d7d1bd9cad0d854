package gossipsim

import "ulnet/lnd/sim/scenario/kit"

// The kinds of messages between bare machines.
const (
	ping = iota
	reply
)

// pool reuses the memory of messages. The memory of a delivered message is reused after the
// step that handles it; the memory of a lost message is left to the garbage collector.
type pool struct {
	free []*kit.Message
	used *kit.Message // the message delivered in the latest step
	off  bool         // memory is not reused, because a message may be delivered twice
}

// take returns a message with a copy of data.
func (p *pool) take(isReply bool, data []byte) *kit.Message {
	var m *kit.Message
	if k := len(p.free) - 1; k >= 0 {
		m, p.free = p.free[k], p.free[:k]
	} else {
		m = new(kit.Message)
	}
	if m.Kind = ping; isReply {
		m.Kind = reply
	}
	m.Data = append(m.Data[:0], data...)
	return m
}

// delivered records the message of this step, nil for none.
func (p *pool) delivered(m *kit.Message) {
	if p.used != nil && !p.off {
		p.free = append(p.free, p.used)
	}
	p.used = m
}
