package socklnd

import (
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
)

// TestSetTimeout: a new time-out of LNet for drivers takes effect while the NI runs, also for
// connections that exist, unless the configuration has a sock_timeout.
func TestSetTimeout(t *testing.T) {
	for _, tt := range []struct{ given, want time.Duration }{{0, 10 * time.Second}, {30 * time.Second, 30 * time.Second}} {
		bubble(t, func(t *testing.T) {
			h, _ := established(t, Config{Keepalive: -1, SockTimeout: tt.given})
			began := time.Now()
			h.put(probeID, pattern(2000)) // the peer does not read this message
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

// TestSetTimeoutOfOneNI: if the tunables of an NI set a sock_timeout, the NI keeps that. If they set 0, the
// NI follows LNet's time-out, whatever sock_timeout the configuration of the driver has.
func TestSetTimeoutOfOneNI(t *testing.T) {
	for _, tt := range []struct {
		driver time.Duration
		own    int
		want   int
	}{{0, 7, 7}, {30 * time.Second, 7, 7}, {30 * time.Second, 0, 10}} {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{SockTimeout: tt.driver}), func(c *lnd.Config) {
			c.LND = map[string]int{"sock_timeout": tt.own}
		})
		h.ni.SetTimeout(10 * time.Second)
		if got := h.ni.Snapshot().Tunables["sock_timeout"]; got != tt.want {
			t.Errorf("driver %v, NI %d: %v s in force, want %d", tt.driver, tt.own, got, tt.want)
		}
	}
}

// TestChecksumErrorOfOneNI: one NI alone can be told to spoil its first checksum.
func TestChecksumErrorOfOneNI(t *testing.T) {
	for _, own := range []map[string]int{nil, {"inject_csum_error": 1}} {
		h := start(t, "10.0.0.2", newMemNet().config(Config{}), func(c *lnd.Config) { c.LND = own })
		if got := h.ni.spoilSum.Load(); got != (own != nil) {
			t.Errorf("%v: the next checksum is wrong: %v", own, got)
		}
	}
}
