package socklnd

import "time"

// A burst is a run of small messages that this node sends while nothing arrives from the peer.
// A system call for each message would cost more than all other work. So the sender leaves
// messages of a burst to the goroutine that drains the queue, which writes many with one call.
// Outside a burst the sender writes its message itself, at once.
const (
	burstAfter = 16                    // messages in a row without a byte from the peer
	burstGap   = 20 * time.Microsecond // longest time between two messages of a burst
)

// burst recognises a burst. It reads the clock only after burstAfter messages, because reading it
// costs time too.
type burst struct {
	run   int           // messages sent since bytes of the peer last arrived
	heard uint64        // bytes received from the peer when run began
	at    time.Duration // time of the previous message
}

// on reports whether another small message for an idle connection is part of a
// burst. The caller holds p.mu.
func (b *burst) on(p *peer) bool {
	if b.run < burstAfter {
		b.run++
		return false
	}
	if heard := p.received(); heard != b.heard {
		b.run, b.heard = 0, heard
		return false
	}
	before := b.at
	b.at = p.ni.clock.Now()
	return b.at-before < burstGap
}
