package socklnd

import "time"

// A burst is a run of small messages each of which follows soon after the connection has become idle.
// A system call for each message would cost more than all other work. So the sender leaves messages of
// a burst to the goroutine that drains the queue, which writes many with one call. Outside a burst the
// sender writes its message itself, at once.
//
// The time that a sender takes between two messages (the think time of queueing theory) tells whether
// it sends a burst. The think time of a sender that waits for answers is a round trip at least.
const (
	burstAfter = 16                    // number of messages in a row that make a burst
	burstThink = 10 * time.Microsecond // longest time from the end of a write to the next message of a burst
)

// burst recognizes a burst.
type burst struct {
	run  int           // number of messages in a row so far; it stays at burstAfter once it has reached that
	idle time.Duration // when the connection became idle
}

// add records that a small message is sent while the connection is idle: it continues the run of
// messages, or begins a new one.
func (b *burst) add(now time.Duration) {
	if now-b.idle > burstThink {
		b.run = 0
	} else if b.run < burstAfter {
		b.run++
	}
}

// on reports whether the latest message is part of a burst.
func (b *burst) on() bool { return b.run == burstAfter }
