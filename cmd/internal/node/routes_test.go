package node_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"ulnet/cmd/internal/config"
)

// lockedLog collects the lines of a log, which a node may also write while a test reads them.
type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer // the lines so far; guarded by mu
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestRoutesNotUsed: the log tells in a few lines which routes of the configuration this node
// does not use, and why.
func TestRoutesNotUsed(t *testing.T) {
	var log lockedLog
	n, err := newLoggedNode(t, slog.New(slog.NewTextHandler(&log, nil)), func(c *config.Config) {
		c.Routes.Routes = "tcp9 127.0.0.65@tcp; tcp8 10.0.0.1@tcp7; tcp 10.0.0.1@tcp7; tcp7 10.0.0.[1-9]@tcp6"
	})
	if err != nil {
		t.Fatal(err)
	}
	if routes := n.RoutesNow(); len(routes) != 1 {
		t.Errorf("routes %+v, want that to tcp9", routes)
	}
	for want, times := range map[string]int{
		"a route of the configuration is not used":                 8,
		"tcp8 10.0.0.1@tcp7: no NI on the gateway's net: no route": 1,
		"tcp 10.0.0.1@tcp7: this node is on tcp: file exists":      1,
		"more routes of the configuration are not used":            1,
		"routes=3": 1,
		"tcp9":     0,
	} {
		if got := strings.Count(log.String(), want); got != times {
			t.Errorf("%q is there %d times, want %d: %s", want, got, times, log.String())
		}
	}
}
