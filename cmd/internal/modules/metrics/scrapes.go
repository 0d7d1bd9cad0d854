package metrics

import (
	"bytes"
	"compress/gzip"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// scrapes answers scrapes. An answer is made in memory, whole and in one format: a client that reads
// slowly keeps no other waiting, and one answer, with its compressed form, is kept for all.
type scrapes struct{ answers kept[*answer] }

// newScrapes returns the page of the daemon's metrics.
func (m *Module) newScrapes() *scrapes {
	return newScrapes(newGatherer(m.read, m.Config.MetricsPeers), slog.NewLogLogger(m.Log.Handler(), slog.LevelError))
}

func newScrapes(g prometheus.Gatherer, to promhttp.Logger) *scrapes {
	metrics := promhttp.HandlerFor(g, promhttp.HandlerOpts{ErrorLog: to, DisableCompression: true})
	return &scrapes{kept[*answer]{limit: scrapeLimit, make: func() *answer {
		a := &answer{header: http.Header{}, status: http.StatusOK}
		metrics.ServeHTTP(a, &http.Request{Method: http.MethodGet, URL: &url.URL{}, Header: http.Header{}})
		return a
	}}}
}

// ServeHTTP implements http.Handler.
func (p *scrapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, ok := p.answers.get()
	if !ok {
		http.Error(w, errStuck.Error(), http.StatusServiceUnavailable)
		return
	}
	h, body := w.Header(), a.body.Bytes()
	h.Set("Content-Type", a.header.Get("Content-Type"))
	h.Set("Vary", "Accept-Encoding")
	if acceptsGzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
		body = a.compressed()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(body) // an error means that the client is gone
}

// acceptsGzip reports whether a client names gzip among the encodings that it understands, and
// does not refuse it with the weight 0 (RFC 9110 §12.5.3).
func acceptsGzip(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		key, value, weighted := strings.Cut(weight, "=")
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		return !weighted || !strings.EqualFold(strings.TrimSpace(key), "q") || err == nil && q > 0
	}
	return false
}

// answer is an http.ResponseWriter that keeps what is written to it. When it is complete, it no
// longer changes, and many requests read it at the same time.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer

	once sync.Once
	zip  bytes.Buffer // the body, compressed when a client first wants that
}

// compressed returns the compressed body.
func (a *answer) compressed() []byte {
	a.once.Do(func() {
		z := gzip.NewWriter(&a.zip)
		_, _ = z.Write(a.body.Bytes()) // a buffer takes everything
		_ = z.Close()
	})
	return a.zip.Bytes()
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
