package engine_test

import (
	"testing"

	"ulnet/lnet/selftest/engine"
)

// TestReset: an output keeps the memory of a few effects and nothing that these refer to.
func TestReset(t *testing.T) {
	small := engine.Output{Effects: []engine.Effect{{Data: make([]byte, 8)}}}
	all := small.Effects
	small.Reset()
	if len(small.Effects) != 0 || cap(small.Effects) != 1 || all[0].Data != nil {
		t.Errorf("%+v, %+v", small, all)
	}
	large := engine.Output{Effects: make([]engine.Effect, 1<<16)}
	if large.Reset(); cap(large.Effects) != 0 {
		t.Errorf("memory of %d effects is kept", cap(large.Effects))
	}
}
