package socklnd

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestHandshakesEnd: a node that shuts down finishes the handshakes that it has begun, and begins
// no more. Kernels log an error for each handshake that breaks off, and a command that sends one
// message and ends would often cause such an error. A peer that does not answer delays the end by
// handshakeGrace at most.
func TestHandshakesEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		h.put(probeID)
		l.answered(t, dialCtl, replyCtl).read(96)
		bulk := l.accept(t)
		bulk.expect(dialIn)
		ended := make(chan time.Duration, 1)
		begin := time.Now()
		go func() {
			_ = h.ni.Shutdown(context.Background())
			ended <- time.Since(begin)
		}()
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("ended in the middle of a handshake")
		default:
		}
		if n, err := bulk.Write(unhex(t, replyOut)); err != nil || n == 0 {
			t.Errorf("the answer is not taken: %v", err)
		}
		bulk.expectEnd()
		if took := <-ended; took > 0 {
			t.Errorf("ended after %v", took)
		}
		l.expectNoDial(t, time.Second)
	})
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		h.put(probeID)
		l.answered(t, dialCtl, replyCtl).read(96)
		l.accept(t).expect(dialIn)
		begin := time.Now()
		_ = h.ni.Shutdown(context.Background())
		if took := time.Since(begin); took > handshakeGrace {
			t.Errorf("ended after %v, though nobody answers", took)
		}
	})
}
