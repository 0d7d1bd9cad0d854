package gossipsim

import "ulnet/lnd/sim/scenario/kit"

// The kinds of messages between bare machines.
const (
	ping = iota
	reply
)

// pool has the memory of messages. That of a delivered message is reused once the step with
// it is over and digested; that of a lost one is garbage.
type pool struct {
	free []*kit.Message
	used *kit.Message // delivered in the latest step
	off  bool         // a message may come twice
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

// delivered notes the message of this step, nil for none.
func (p *pool) delivered(m *kit.Message) {
	if p.used != nil && !p.off {
		p.free = append(p.free, p.used)
	}
	p.used = m
}
