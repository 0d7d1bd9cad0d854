package gossip

import (
	"testing"
	"time"

	"ulnet/gossip/wire"
)

// TestAgentFresh: a message to a node that is out of reach is not sent once the node is back, because its ages would
// count as fresh there. Pings and replies must leave within two cycles, and the time in which a connection is made.
func TestAgentFresh(t *testing.T) {
	const n = 4
	for rtt, within := range map[time.Duration]time.Duration{-1: 2 * interval, 0: 2 * interval, 10 * time.Millisecond: 2*interval + 40*time.Millisecond} {
		s := newStation(t, n, testNIDs(n)[0])
		s.start(func(c *Config) { c.RTT = rtt })
		s.clock.advance(interval)
		s.arrive(s.list.NID(2), wire.PingBits, s.ping(2))
		tap := s.nis[0].tap
		if len(tap) != 2 || tap[1].cmd.MatchBits != wire.ReplyBits {
			t.Fatalf("%d messages, want a ping and a reply", len(tap))
		}
		for _, p := range tap {
			if waits := p.leaveBy - s.clock.now; waits > within || waits <= within-interval {
				t.Errorf("a message with the bits %d may wait for %v, want about %v", p.cmd.MatchBits, waits, within)
			}
		}
	}
}
