package health_test

import (
	"testing"

	"ulnet/health"
	"ulnet/health/engine"
	"ulnet/health/wire"
)

// TestCodes lists the words by which JSON and logs name the answers of servers and the causes of
// evictions. Each code of the messages has a name in this package, too.
func TestCodes(t *testing.T) {
	codes := map[health.Code]string{
		health.OK: "ok", health.Global: "global", health.NoQuorum: "no-quorum", health.MasterDead: "master-dead",
		health.Stale: "stale", health.OldEpoch: "old-epoch", health.NotConnected: "not-connected", health.Busy: "busy",
		health.Orphaned: "orphaned", health.OtherMaster: "other-master", health.Full: "full", health.Flapping: "flapping",
		health.StoreFailed: "store-failed", health.Draining: "draining", health.UnknownServer: "unknown-server",
		health.BadClaim: "bad-claim", health.Foreign: "foreign", health.Newer: "newer", health.Ahead: "ahead",
		health.OtherTimes: "other-times", health.OtherKey: "other-key",
	}
	for c := range wire.Codes {
		if word, ok := codes[c]; c.String() != word {
			t.Errorf("the code %v is %q, in the table: %v", c, word, ok)
		}
	}
	causes := map[health.Cause]string{
		health.TimedOut: "timed-out", health.Rebooted: "rebooted", health.ByAdmin: "by-admin", health.LostMaster: "lost-master",
		health.LostQuorum: "lost-quorum", health.Left: "left", health.NeverStored: "never-stored",
	}
	for c := range wire.Causes {
		if word, ok := causes[c]; c.String() != word {
			t.Errorf("the cause %v is %q, in the table: %v", c, word, ok)
		}
	}
}

// TestEventKinds lists the words by which programs and JSON name events.
func TestEventKinds(t *testing.T) {
	servers := map[string]health.EventKind{
		"connected": health.ClientConnected, "recovered": health.ClientRecovered, "suspended": health.ClientSuspended,
		"evicted": health.ClientEvicted, "orphaned": health.ClientOrphaned, "rehomed": health.ClientRehomed,
		"quorum-lost": health.QuorumLost, "quorum-won": health.QuorumWon,
	}
	for _, word := range engine.EventNames() {
		if kind, ok := servers[word]; !ok || kind.String() != word {
			t.Errorf("the kind %q is %v, in the table: %v", word, kind, ok)
		}
	}
	clients := map[string]health.ClientEventKind{
		"master-chosen": health.MasterChosen, "master-lost": health.MasterLost, "attached": health.Attached,
		"dropped": health.Dropped, "refused": health.Refused, "evicted": health.Evicted, "superseded": health.Superseded,
	}
	for _, word := range engine.ClientEventNames() {
		if kind, ok := clients[word]; !ok || kind.String() != word {
			t.Errorf("the kind %q is %v, in the table: %v", word, kind, ok)
		}
	}
}
