package history_test

import (
	"testing"

	"ulnet/lnd/sim/history"
)

// TestKinds has the number and the word of each kind. The digests of runs contain the numbers, so
// they stay, and histories that a failed run prints have the words.
func TestKinds(t *testing.T) {
	for number, k := range map[uint16]struct {
		kind history.Kind
		word string
	}{
		1: {history.Join, "join"}, 2: {history.Leave, "leave"}, 3: {history.Death, "death"}, 4: {history.Eviction, "eviction"},
		6: {history.Send, "send"}, 7: {history.Delivery, "delivery"}, 8: {history.Completion, "completion"}, 9: {history.Unreached, "unreached"},
		128: {history.Start, "start"}, 129: {history.Kill, "kill"}, 130: {history.Crash, "crash"},
		131: {history.Pause, "pause"}, 132: {history.Resume, "resume"}, 133: {history.Skew, "skew"}, 134: {history.Slow, "slow"},
		135: {history.Partition, "partition"}, 136: {history.Cut, "cut"}, 137: {history.Heal, "heal"},
		138: {history.Links, "links"}, 139: {history.LinksReset, "links reset"},
		256: {history.Own, "kind 256"},
	} {
		if uint16(k.kind) != number || k.kind.String() != k.word {
			t.Errorf("%v has the number %d, want %s, %d", k.kind, uint16(k.kind), k.word, number)
		}
	}
}
