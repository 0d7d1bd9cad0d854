package engine

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// TestUnready: CH-A6: a node that is silent after its start is not ready until it has heard of most participants. Then it
// is, also if these die during its silence. One that has stopped judges nothing any more.
func TestUnready(t *testing.T) {
	spec.Covers(t, "CH-A6")
	start := func() *harness {
		h := newHarness(t, 4, 0, func(c *Config) { c.ColdStart = false })
		if h.cycles(1); !h.m.Silent() || !h.m.Unready() {
			t.Fatal("ready, although it has heard of no other")
		}
		return h
	}
	h := start()
	h.ping(1, h.header(), 1, 0, 255, 255)
	if h.m.AliveCount() != 2 || !h.m.Unready() {
		t.Errorf("%d of 4 alive, ready", h.m.AliveCount())
	}
	h.ping(1, h.header(), 1, 0, 1, 255)
	if h.m.AliveCount() != 3 || h.m.Unready() {
		t.Errorf("%d of 4 alive, not ready", h.m.AliveCount())
	}
	if h.cycles(h.m.Limits().Dead + 1); !h.m.Silent() || h.m.AliveCount() != 1 || h.m.Unready() {
		t.Errorf("silent %v, %d alive, ready %v", h.m.Silent(), h.m.AliveCount(), !h.m.Unready())
	}
	h = start()
	if h.cycles(h.m.Limits().Stealth); h.m.Silent() || h.m.Unready() {
		t.Error("not ready after the silence")
	}
	h = start()
	bad := h.params(h.header())
	bad.Digest[0]++
	h.ping(1, bad, young(4, 1)...)
	h.ping(2, bad, young(4, 2)...)
	if !h.m.Stopped() || h.m.Unready() {
		t.Errorf("stopped %v, ready %v", h.m.Stopped(), !h.m.Unready())
	}
}
