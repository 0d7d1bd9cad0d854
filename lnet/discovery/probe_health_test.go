package discovery_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/discovery"
	"ulnet/lnet/path"
)

// TestProbesBlameNothing: a stranger lists NIDs at which nothing answers. Probes of these NIDs fail, and the health of
// this node's NIs stays what it was: nothing shows that one of them is not well.
func TestProbesBlameNothing(t *testing.T) {
	spec.Covers(t, "HV-5", "PD-22")
	w, clock := newCable(t), new(handClock)
	w.clock = clock
	a, x := w.node(discovery.Config{}, nidA, "10.0.0.101@tcp"), w.stranger(nidX)
	const claimed = 12 // with nidX, an info that a push buffer can hold
	refused := 0
	w.refuse = func(m *lnd.Message) error {
		if w.ports[m.Target.NID] != nil {
			return nil
		}
		refused++
		return lnd.Failed(lnd.NetworkTimeout, syscall.ETIMEDOUT)
	}
	claims := []string{nidX}
	for i := range claimed {
		claims = append(claims, fmt.Sprintf("10.0.9.%d@tcp", i+1))
	}
	x.claim(nidA, 9, claims...)
	for _, after := range []time.Duration{0, 30 * time.Second} {
		clock.advance(w, after)
		for _, ni := range a.table.Node().NIs() {
			if h := ni.Rail().Health(); h != path.MaxHealth {
				t.Errorf("health of %v is %d after %d probes that failed", ni.NID(), h, refused)
			}
		}
	}
	if refused <= claimed {
		t.Errorf("%d probes of %d NIDs", refused, claimed)
	}
}
