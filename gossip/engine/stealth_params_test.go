package engine

import (
	"testing"

	"ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestParametersAfterSilence: the N cycles in which messages carry parameters do not include
// the silent ones (GO-A16 with GO-70). Otherwise a newcomer with other parameters would never
// learn that, because the silence of its start takes longer than N cycles.
func TestParametersAfterSilence(t *testing.T) {
	spec.Covers(t, "GO-70", "GO-A16")
	const n = 3
	for name, end := range map[string]func(h *harness){
		"by its time": func(h *harness) { h.cycles(h.m.limits.Stealth) },
		"early": func(h *harness) {
			h.cycles(2)
			h.ping(1, h.header(), byte(h.m.limits.VeryOld), 0, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, n, 0, func(c *Config) { c.ColdStart = false })
			end(h)
			for i := range n + 2 {
				h.cycles(1)
				header, _ := h.sent(false)
				if carries := header.Flags&wire.FlagParams != 0; carries != (i < n) {
					t.Errorf("ping %d after the silence: parameters %v", i+1, carries)
				}
			}
		})
	}
}
