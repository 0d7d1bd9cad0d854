package health_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ulnet/health"
)

// TestAgentsOfOtherTimes: a client whose time-outs are too long for all servers is connected to
// none of them, and reports the reason with its own time and that of the servers. A client with
// shorter time-outs than the rest is accepted as usual.
func TestAgentsOfOtherTimes(t *testing.T) {
	c := newCluster(t, 2)
	slow, quick := servers, servers+1
	c.ping = map[int]time.Duration{slow: 6 * time.Second, quick: time.Second}
	c.run(time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.conns[slow].Wait(ctx)
	if want := "other-times (it evicts clients after 17.5s; this one pings every 6s and needs 21s)"; !errors.Is(err, context.Canceled) ||
		strings.Count(err.Error(), want) != servers {
		t.Errorf("got %v, want %q of all servers", err, want)
	}
	for i, a := range c.agents[:servers] {
		if _, known := a.Client(c.conns[slow].Status().Client); known || a.Stats().Rejected[health.OtherTimes] == 0 {
			t.Errorf("server %d: known %v, %+v", i, known, a.Stats())
		}
	}
	c.wantAll(quick, servers)
}
