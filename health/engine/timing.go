package engine

import (
	"cmp"
	"fmt"
	"time"
)

// Timing has the times of the protocol; all servers and clients should use the same. A server
// refuses a client (OtherTimes) whose Ping, or Client + Elect, is too long for its own Evict.
// The zero value of a field means its default.
type Timing struct {
	// Ping is the ping interval: the longest time for which a client sends no message to its
	// master (T_ping). Default 5 s.
	Ping time.Duration
	// Client is the time without a message from its master after which a client chooses another
	// one (T_client). Default 1.5·Ping.
	Client time.Duration
	// Elect bounds the time to find another master and to tell all servers (T_elect +
	// T_notify). Default Ping.
	Elect time.Duration
	// Evict is the time without a message from a client after which its master evicts it
	// (T_evict). Default 3.5·Ping.
	Evict time.Duration
	// Orphan is how long a client whose master has died may take to name the next one
	// (T_orphan). Default 3·Client.
	Orphan time.Duration
	// Quorum is how long a server must be cut off before it evicts its clients (T_q).
	// Default Ping; negative: at once, as the design says.
	Quorum time.Duration
	// Broadcast is the time in which an eviction reaches all servers (T_bcast). A client whose
	// connect must wait for an eviction is told to try again after three times that time. Default 1
	// s.
	Broadcast time.Duration
	// RTT is the longest round trip of a message. Default 100 ms.
	RTT time.Duration
	// Tick is the interval in which a server collects evictions for one broadcast. Default 1 s.
	Tick time.Duration
	// Try is how long a client waits for the answer of one server before it tries the next.
	// Default Elect/5.
	Try time.Duration
}

// minTombstone is the shortest time for which an eviction is remembered (CH-A20).
const minTombstone = 10 * time.Minute

// tombstone returns for how long an eviction is remembered.
func (t *Timing) tombstone() time.Duration { return max(minTombstone, 2*t.Evict) }

// Filled returns t with its defaults filled in, or an *[Error].
func (t Timing) Filled() (Timing, error) {
	t.Ping = cmp.Or(t.Ping, 5*time.Second)
	t.Client = cmp.Or(t.Client, t.Ping*3/2)
	t.Elect = cmp.Or(t.Elect, t.Ping)
	t.Evict = cmp.Or(t.Evict, t.Ping*7/2)
	t.Orphan = cmp.Or(t.Orphan, 3*t.Client)
	if t.Quorum >= 0 {
		t.Quorum = cmp.Or(t.Quorum, t.Ping)
	}
	t.Broadcast = cmp.Or(t.Broadcast, time.Second)
	t.RTT = cmp.Or(t.RTT, 100*time.Millisecond)
	t.Tick = cmp.Or(t.Tick, time.Second)
	t.Try = cmp.Or(t.Try, t.Elect/5)
	return t, t.check()
}

// check compares the times with each other (CH-A3, CH-A4).
func (t *Timing) check() error {
	refuse := func(format string, args ...any) error { return &Error{Why: fmt.Sprintf(format, args...)} }
	switch {
	case t.Ping < 0 || t.Client < 0 || t.Elect < 0 || t.Evict < 0 || t.Orphan < 0 || t.Broadcast < 0 || t.RTT < 0 || t.Tick < 0 || t.Try < 0:
		return refuse("a time is negative: only that of the quorum may be")
	case t.Evict <= t.Ping:
		return refuse("the eviction time-out %v is not longer than the ping interval %v, so that all clients would be evicted: make it %v",
			t.Evict, t.Ping, 3*t.Ping+t.RTT)
	case t.Evict < 3*t.Ping+t.RTT:
		return refuse("the eviction time-out %v is shorter than three ping intervals and a round trip: make it at least %v, or the ping interval at most %v",
			t.Evict, 3*t.Ping+t.RTT, (t.Evict-t.RTT)/3)
	case t.Client <= t.Ping:
		return refuse("the clients' time-out %v is not longer than the ping interval %v: make it %v", t.Client, t.Ping, t.Ping*3/2)
	case t.Client+t.Elect+t.Ping > t.Evict:
		return refuse("a client needs up to %v to notice that its master is silent, to choose another and to ping it, but is evicted after %v: "+
			"make the eviction time-out at least that, or the clients' time-out (%v) or the time to choose (%v) shorter",
			t.Client+t.Elect+t.Ping, t.Evict, t.Client, t.Elect)
	case t.Orphan < t.Client+t.Elect:
		return refuse("orphans have %v, but need up to %v to notice that their master is silent and to choose another: make it at least that",
			t.Orphan, t.Client+t.Elect)
	case t.Orphan/3+t.Elect > t.Orphan:
		return refuse("orphans are told after a third of %v, and need %v to choose: make the orphan time-out at least %v", t.Orphan, t.Elect, t.Elect*3/2)
	case t.Try*2 > t.Elect:
		return refuse("a client that tries each server for %v cannot try two in %v: make that at most %v", t.Try, t.Elect, t.Elect/2)
	}
	return nil
}
