package health

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/gossip"
	"ulnet/health"
	"ulnet/lnd/lndtest/spec"
)

// TestWarnOfSlow: CH-64: a server that is cut off must notice that before its evictions of
// clients with another master are final. If gossip is too slow for that, the log says what to
// do.
func TestWarnOfSlow(t *testing.T) {
	spec.Covers(t, "CH-64")
	for _, test := range []struct {
		interval, evict time.Duration
		warns           bool
	}{
		{time.Second, 0, false}, // the default times are long enough
		{2700 * time.Millisecond, 0, false},
		{2800 * time.Millisecond, 0, true},
		{2800 * time.Millisecond, 25 * time.Second, false},
	} {
		var log bytes.Buffer
		h := &roles{log: slog.New(slog.NewTextHandler(&log, nil)), cfg: config.Health{Times: health.Timing{Ping: 5 * time.Second, Evict: test.evict}}}
		h.warnOfSlow(gossip.Status{Threshold: 16, Interval: test.interval})
		if got := strings.Contains(log.String(), "gossip is much slower than evictions"); got != test.warns {
			t.Errorf("%v, %v: %q", test.interval, test.evict, log.String())
		}
	}
}
