package gossip_test

import (
	"testing"

	"ulnet/gossip"
	"ulnet/gossip/engine"
)

// TestKinds: events and health have these names, in JSON and for programs that handle events. Each
// kind of event that the machine has also has a constant in this package.
func TestKinds(t *testing.T) {
	kinds := map[string]gossip.EventKind{
		"died": gossip.Died, "alive": gossip.CameAlive, "quorum": gossip.QuorumWon, "no-quorum": gossip.QuorumLost,
		"disagreed": gossip.Disagreed, "stopped": gossip.Stopped, "left": gossip.Left, "speaks-up": gossip.SpeaksUp,
		"paused": gossip.Paused, "resynced": gossip.Resynced, "realigned": gossip.Realigned,
		"not-signed": gossip.NotSigned, "clock-refused": gossip.ClockRefused,
	}
	for _, word := range engine.EventNames() {
		if kind, ok := kinds[word]; !ok || kind.String() != word {
			t.Errorf("the kind %q is %v, in the table: %v", word, kind, ok)
		}
	}
	for word, want := range map[string]gossip.Health{"unknown": gossip.Unknown, "alive": gossip.Alive, "dead": gossip.Dead} {
		var got gossip.Health
		if err := got.UnmarshalText([]byte(word)); err != nil || got != want || want.String() != word {
			t.Errorf("%q is %v, %v, want %v", word, got, err, want)
		}
	}
}
