package socklnd

import "time"

// A burst is a run of small messages that the peer does not answer. A write for each would
// cost more than all else, so in a burst they are left to the drain, which takes many at a
// time. The sender of a single message, or of an answer, writes it at once.
const (
	burstAfter = 16                    // messages without a word from the peer
	burstGap   = 20 * time.Microsecond // between them, at most
)

// burst recognises bursts. It reads the clock only after burstAfter messages.
type burst struct {
	run   int           // messages since the peer was heard
	heard uint64        // bytes that had come from it then
	at    time.Duration // of the previous message
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
