package engine_test

import (
	"encoding"
	"testing"

	"ulnet/gossip/engine"
)

// TestWords: in JSON, the values of Health, EventKind, RollState and Refusal are words. The
// words can be parsed again, and other words are refused.
func TestWords(t *testing.T) {
	check := func(word string, from encoding.TextMarshaler, to encoding.TextUnmarshaler, same func() bool) {
		t.Helper()
		if text, err := from.MarshalText(); err != nil || string(text) != word {
			t.Errorf("%v: %q, %v, want %q", from, text, err, word)
		}
		if err := to.UnmarshalText([]byte(word)); err != nil || !same() {
			t.Errorf("%q comes back as %v, %v", word, to, err)
		}
		if to.UnmarshalText([]byte("nonsense")) == nil {
			t.Errorf("%T takes nonsense", to)
		}
	}
	for from, word := range map[engine.Health]string{engine.Unknown: "unknown", engine.Alive: "alive", engine.Dead: "dead"} {
		to := engine.Health(99)
		check(word, from, &to, func() bool { return from == to })
	}
	for i, word := range engine.EventNames() {
		from, to := engine.EventKind(i), engine.EventKind(99)
		check(word, from, &to, func() bool { return from == to })
	}
	for from, word := range map[engine.RollState]string{
		engine.RollUnknown: "unknown", engine.RollUnstaged: "unstaged", engine.RollOther: "other",
		engine.RollStaged: "staged", engine.RollCommitted: "committed",
	} {
		to := engine.RollState(99)
		check(word, from, &to, func() bool { return from == to })
	}
	for from, word := range map[engine.Refusal]string{
		engine.NotRefused: "", engine.RefusedCode: "not-signed", engine.RefusedAhead: "clock-ahead", engine.RefusedOld: "clock-behind",
	} {
		to := engine.Refusal(99)
		check(word, from, &to, func() bool { return from == to })
	}
}
