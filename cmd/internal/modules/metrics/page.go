package metrics

import (
	"bytes"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Scrapes take a token each: so many can come at a time, and then one in each interval. More are
// refused, so that a flood of them costs little of the processor.
const (
	scrapeBurst    = 8
	scrapeInterval = 250 * time.Millisecond
)

// page answers scrapes. One at a time is made, in memory: a client that reads slowly keeps no
// other waiting, and costs no more than the bytes of its answer.
type page struct {
	metrics http.Handler

	mu     sync.Mutex // held while an answer is made
	tokens tokens
}

func newPage(m *Module) *page {
	return &page{metrics: promhttp.HandlerFor(newGatherer(m.read, m.Config.MetricsPeers), promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(m.Log.Handler(), slog.LevelError),
	})}
}

// ServeHTTP implements http.Handler.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.tokens.take(time.Now()) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many scrapes: one in a few seconds is enough", http.StatusServiceUnavailable)
		return
	}
	answer := p.answer(r)
	h := w.Header()
	for key, values := range answer.header { // any order: each key has a place of its own
		h[key] = values
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body.Bytes()) // an error means that the client is gone
}

func (p *page) answer(r *http.Request) *answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := &answer{header: http.Header{}, status: http.StatusOK}
	p.metrics.ServeHTTP(a, r)
	return a
}

// answer is an http.ResponseWriter that keeps what is written.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

// tokens is a token bucket for scrapes.
type tokens struct {
	mu   sync.Mutex
	full time.Time // when the bucket will be full; guarded by mu
}

// take takes a token, and reports whether there was one.
func (t *tokens) take(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	full := t.full
	if full.Before(now) {
		full = now
	}
	if full = full.Add(scrapeInterval); full.Sub(now) > scrapeBurst*scrapeInterval {
		return false
	}
	t.full = full
	return true
}
