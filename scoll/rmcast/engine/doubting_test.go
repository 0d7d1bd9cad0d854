package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
)

// TestDoubting: RM-28: discovery is to be asked about a death that is not certain when it may begin to matter: managers
// have another list, or one on standby takes over and asks the members. It is not while nothing changes, nor without such
// a death.
func TestDoubting(t *testing.T) {
	spec.Covers(t, "RM-28")
	w := parted(t, 4, 2)
	doubting := func(id sim.NodeID) int {
		n := w.hosts[id].doubting
		w.hosts[id].doubting = 0
		return n
	}
	w.restart(3)
	w.run(3 * time.Second)
	if a, b := doubting(0), doubting(1); a+b > 0 {
		t.Errorf("without a death: %d, %d", a, b)
	}
	w.net.Command(0, "doubted 2")
	w.net.Command(1, "doubted 2")
	w.run(5 * time.Second)
	if a, b := doubting(0), doubting(1); a+b > 0 {
		t.Errorf("while nothing changes: %d, %d", a, b)
	}
	w.restart(3)
	w.run(3 * time.Second)
	if a, b := doubting(0), doubting(1); a == 0 || b == 0 {
		t.Errorf("with other members: %d, %d", a, b)
	}
	w.net.Crash(0)
	w.run(10 * time.Second)
	if b := doubting(1); b == 0 || w.hosts[1].g.role != active {
		t.Errorf("%v after the end of the active manager: %d", w.hosts[1].g.role, b)
	}
}
