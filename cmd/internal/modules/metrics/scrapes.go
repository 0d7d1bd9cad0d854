package metrics

import (
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// scrapes serves the metrics page. It makes each answer whole, in memory, so that a client that reads
// slowly delays no other. It keeps the last answer for all clients, in the formats that were asked for.
type scrapes struct{ answers kept[*answer] }

// newScrapes returns the page of the daemon's metrics.
func (m *Module) newScrapes() *scrapes {
	return newScrapes(newGatherer(m.read, m.Config.MetricsPeers), m.Log)
}

func newScrapes(g prometheus.Gatherer, log *slog.Logger) *scrapes {
	last := new(sizes)
	return &scrapes{kept[*answer]{limit: scrapeLimit, make: func() *answer {
		families, err := g.Gather()
		if err != nil {
			log.Error("metrics cannot be read", slog.Any("err", err))
		}
		return &answer{families: families, err: err, sizes: last}
	}}}
}

// ServeHTTP implements http.Handler.
func (p *scrapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, ok := p.answers.get()
	if !ok {
		http.Error(w, errStuck.Error(), http.StatusServiceUnavailable)
		return
	}
	f := formatFor(r.Header)
	body, err := a.in(f)
	h := w.Header()
	h.Set("Vary", "Accept, Accept-Encoding")
	if err != nil {
		http.Error(w, "metrics cannot be read: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", string(formats[f]))
	if acceptsGzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
		body = a.compressed(f)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // an error means that the client is gone
}

// format is an index of formats.
type format int

// formats are those in which metrics are served. Clients that accept neither of them get the first one.
var formats = [...]expfmt.Format{text: expfmt.NewFormat(expfmt.TypeTextPlain), protobuf: expfmt.NewFormat(expfmt.TypeProtoDelim)}

const (
	text format = iota
	protobuf
)

// formatFor returns the format that a client wants most.
func formatFor(h http.Header) format {
	if expfmt.NegotiateAccept(h, formats[:]...).FormatType() == expfmt.TypeProtoDelim {
		return protobuf
	}
	return text
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
