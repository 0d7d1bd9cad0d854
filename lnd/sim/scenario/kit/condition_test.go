package kit_test

import (
	"slices"
	"testing"

	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

// TestAll: if a condition does not hold for several of the things that it is about, the answer
// names the first of these.
func TestAll(t *testing.T) {
	wrong := func(text string) string { return text }
	if ok, why := kit.All(slices.Values([]string{"", ""}), wrong); !ok || why != "" {
		t.Errorf("nothing is wrong: %v, %q", ok, why)
	}
	if ok, why := kit.All(slices.Values([]string{"", "late", "lost"}), wrong); ok || why != "late" {
		t.Errorf("two are wrong: %v, %q", ok, why)
	}
}

// TestCommand: a command is a verb and its arguments, which may be absent.
func TestCommand(t *testing.T) {
	if verb, args := scenario.ParseCommand("put 7 100"); verb != "put" || args.Node(0) != 6 || args.Int(1) != 100 || args.Int(2) != 0 {
		t.Errorf("%s %v", verb, args)
	}
	if verb, args := scenario.ParseCommand("leave"); verb != "leave" || len(args) != 0 {
		t.Errorf("%s %v", verb, args)
	}
}

// TestNote: the first violation of a rule is kept, not a later one.
func TestNote(t *testing.T) {
	var first error
	kit.Note(&first, "message %d is lost", 1)
	kit.Note(&first, "message %d is lost", 2)
	if first == nil || first.Error() != "message 1 is lost" {
		t.Errorf("got %v", first)
	}
}
