package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
)

func TestBoot(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 64} {
		for seed := range effort.Of[uint64](2, 2, 5) {
			w := newWorld(t, seed, n, Config{}).boot()
			took := w.until(60*time.Second, w.agree)
			if testing.Verbose() {
				t.Log(n, seed, took)
			}
			w.run(20 * time.Second)
			if !w.agree() || w.wrongly > 0 {
				w.fail("%d nodes: %d removed", n, w.wrongly)
			}
		}
	}
}
