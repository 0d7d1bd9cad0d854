package metrics

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
)

// TestHangingNode: while the node hangs, each of many requests is answered in time with 503, and
// only one of them asks the node. When it answers again, so do the probes.
func TestHangingNode(t *testing.T) {
	spec.Covers(t, "OP-24")
	for name, of := range map[string]func(hang func()) http.Handler{
		"healthz": func(hang func()) http.Handler {
			return healthz(func(context.Context) error { hang(); return nil })
		},
		"metrics": func(hang func()) http.Handler {
			return newScrapes(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { hang(); return nil, nil }), nil)
		},
		"readyz": func(hang func()) http.Handler {
			return readyz(func() node.Status { hang(); return fullState(nil).status })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				release := make(chan struct{})
				h := of(func() { asked.Add(1); <-release })
				const requests = 50
				began, done := time.Now(), make(chan struct{}, requests)
				for range requests {
					go func() {
						if w := scrape(t, h); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "does not answer") {
							t.Errorf("status %d, %q", w.Code, w.Body)
						}
						done <- struct{}{}
					}()
				}
				for range requests {
					<-done
				}
				if took := time.Since(began); took > scrapeLimit || asked.Load() != 1 {
					t.Errorf("answers took %v, the node was asked %d times", took, asked.Load())
				}
				close(release)
				synctest.Wait()
				if w := scrape(t, h); w.Code != http.StatusOK {
					t.Errorf("later: status %d, %q", w.Code, w.Body)
				}
			})
		})
	}
}
