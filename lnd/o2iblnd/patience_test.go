package o2iblnd

import (
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/verbs/softroce"
)

// TestTimeoutOfLNet: LNet's timeout for drivers applies from the start. It can change while the NI
// runs, and then applies to existing connections too. If the tunable is set, its value applies
// instead.
func TestTimeoutOfLNet(t *testing.T) {
	for _, tt := range []struct{ given, before, after time.Duration }{
		{0, 16 * time.Second, 7 * time.Second},
		{30 * time.Second, 30 * time.Second, 30 * time.Second},
	} {
		at := loopbackAddrs(2)
		lnet := func(c *lnd.Config) { c.Tunables.Timeout = 16 * time.Second }
		e := newEcho(8)
		x := start(t, at[0], softroce.Open, Config{Timeout: tt.given}, e, lnet)
		y := start(t, at[1], softroce.Open, Config{Timeout: tt.given}, newEcho(8))
		x.Send(newMessage(x, y.nid, 8))
		<-e.left
		for _, step := range []struct{ set, want time.Duration }{{0, tt.before}, {7 * time.Second, tt.after}} {
			x.SetTimeout(step.set)
			if got := x.Snapshot().Tunables["timeout"]; got != int(step.want/time.Second) {
				t.Errorf("%v s in force, want %v", got, step.want)
			}
			for _, c := range x.conns.all() {
				c.mu.Lock()
				if c.x != nil && c.x.cfg.timeout != step.want {
					t.Errorf("a connection waits %v, want %v", c.x.cfg.timeout, step.want)
				}
				c.mu.Unlock()
			}
		}
		shut(x)
		shut(y)
	}
}
