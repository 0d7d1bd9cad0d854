package rival

import (
	"runtime"
	"testing"
)

// TestCountCosts: the CPU time that Count itself takes is not counted as a cost of the system.
func TestCountCosts(t *testing.T) {
	var ballast []*[64]byte
	for range 200_000 { // these allocations make work for the garbage collector
		ballast = append(ballast, new([64]byte))
	}
	c, err := Count(struct{}{})
	runtime.KeepAlive(ballast)
	if err != nil || c.Counted <= c.CPU || c.Memory <= int64(len(ballast)*64) {
		t.Errorf("%+v, %v", c, err)
	}
}
