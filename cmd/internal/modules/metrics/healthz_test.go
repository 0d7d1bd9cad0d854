package metrics

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// TestHealthz: the answer is 200 if the node works, and 503 if it does not, or if the probe of the
// node does not end in time. While a probe is stuck, further requests begin none, and each gets its
// 503 in time, too. After the probe has ended, requests get 200 again.
func TestHealthz(t *testing.T) {
	spec.Covers(t, "OP-24")
	synctest.Test(t, func(t *testing.T) {
		var probes atomic.Int64
		stuck := make(chan struct{})
		probe := func(context.Context) error { return nil }
		h := healthz(func(ctx context.Context) error {
			probes.Add(1)
			return probe(ctx)
		})
		check := func(what string, status int, text string) {
			t.Helper()
			if w := scrape(t, h); w.Code != status || !strings.Contains(w.Body.String(), text) {
				t.Errorf("%s: status %d, %q; want %d, %q", what, w.Code, w.Body, status, text)
			}
		}
		for range 1000 {
			check("it works", http.StatusOK, "ok\n")
		}
		if n := probes.Load(); n != answerBurst {
			t.Errorf("1000 requests at one instant made %d probes, want %d", n, answerBurst)
		}
		time.Sleep(answerInterval)
		probe = func(context.Context) error { return errors.New("no timer") }
		check("it fails", http.StatusServiceUnavailable, "no timer")
		time.Sleep(time.Minute)
		probes.Store(0)
		probe = func(context.Context) error { <-stuck; return nil }
		for range 3 {
			began := time.Now()
			check("it is stuck", http.StatusServiceUnavailable, "SIGABRT")
			if took := time.Since(began); took != probeTimeout {
				t.Errorf("answered after %v, want %v", took, probeTimeout)
			}
		}
		if n := probes.Load(); n != 1 {
			t.Errorf("%d probes of a node that is stuck", n)
		}
		close(stuck)
		synctest.Wait()
		check("it works again", http.StatusOK, "ok\n")
	})
}
