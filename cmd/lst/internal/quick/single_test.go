package quick

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
)

// TestOwnClient: if the client of a pair is the console's own node, the latencies of the pair are those of
// single RPCs of the round. If that node cannot say how long RPCs took, they come from intervals, as for all
// other pairs.
func TestOwnClient(t *testing.T) {
	spec.Covers(t, "ST-47")
	for name, fails := range map[string]bool{"timed": false, "an older daemon": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, looks := usual(), uint64(0)
				cfg.Own = &Own{NIDs: []nid.NID{hosts(9)[0].NID, cfg.From[1].NID}, Latencies: func(context.Context) ([]selftest.Latency, error) {
					looks++
					if fails {
						return nil, errors.New("there is no such operation")
					}
					return []selftest.Latency{
						{UpTo: time.Microsecond, RPCs: 50 * looks},
						{UpTo: time.Millisecond, RPCs: 7 + 48*looks},
						{UpTo: 5 * time.Millisecond, RPCs: 2 * looks},
						{UpTo: time.Hour, RPCs: 3},
					}, nil
				}}
				r, err := Measure(t.Context(), newFake(rate), cfg)
				if err != nil || !r.OK() {
					t.Fatal(err)
				}
				for i := range r.Pairs {
					p := &r.Pairs[i]
					l := p.Latency
					if own := !fails && p.From == r.From[1]; l.Single != own || l.Mean == 0 {
						t.Errorf("pair %d: %+v", i, l)
					} else if own && (l.P50 != time.Microsecond || l.P90 != time.Millisecond || l.P99 != 5*time.Millisecond || l.Max != 5*time.Millisecond) {
						t.Errorf("pair %d: %+v", i, l)
					}
				}
				var b strings.Builder
				if err := r.Print(&b); err != nil || strings.Contains(b.String(), "1µs/1ms/5ms*") == fails || strings.Contains(b.String(), "* of single RPCs") == fails {
					t.Errorf("%v\n%s", err, &b)
				}
			})
		})
	}
}
