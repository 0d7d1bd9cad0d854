package socklnd

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestSetTimeout: LNet's time-out for drivers changes while the NI runs, also for connections that
// are there, unless sock_timeout says how long.
func TestSetTimeout(t *testing.T) {
	for _, tt := range []struct{ given, want time.Duration }{{0, 10 * time.Second}, {30 * time.Second, 30 * time.Second}} {
		bubble(t, func(t *testing.T) {
			h, _ := established(t, Config{Keepalive: -1, SockTimeout: tt.given})
			began := time.Now()
			h.put(probeID, pattern(2000)) // the peer does not read it
			synctest.Wait()
			h.ni.SetTimeout(10 * time.Second)
			if got := h.ni.Snapshot().Tunables["sock_timeout"]; got != int(tt.want/time.Second) {
				t.Errorf("%v s in force, want %v", got, tt.want)
			}
			h.await("PeerDown", func() bool { return len(h.downs) == 1 })
			if took := time.Since(began); took < tt.want || took > tt.want*5/4 {
				t.Errorf("down after %v, want %v", took, tt.want)
			}
			h.wantFinalized(1)
		})
	}
}
