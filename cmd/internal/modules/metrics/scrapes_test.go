package metrics

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
)

func pageOf(peers int) *scrapes { return newScrapes(gathererOf(crowdOf(peers), 1000), silent) }

// silent is a log that nothing reads.
var silent = slog.New(slog.DiscardHandler)

// TestScrapeSize: the answer with a thousand peers, and with many more, has 1 MiB at
// most, in each format, plain and compressed.
func TestScrapeSize(t *testing.T) {
	spec.Covers(t, "G-OP-2")
	for _, peers := range []int{1000, 20_000} {
		p := pageOf(peers)
		plain := scrape(t, p)
		if plain.Code != http.StatusOK || plain.Body.Len() > 1<<20 || plain.Body.Len() < 500_000 {
			t.Errorf("%d peers: status %d, %d bytes", peers, plain.Code, plain.Body.Len())
		}
		if got := strings.Count(plain.Body.String(), "\nulnet_peer_sent_messages_total{"); got != min(peers, 1000)+btoi(peers > 1000) {
			t.Errorf("%d peers: %d lines of one metric", peers, got)
		}
		if w := scrape(t, p, "Accept", wantsProtobuf); w.Code != http.StatusOK || w.Body.Len() > 1<<20 || w.Body.Len() < 500_000 {
			t.Errorf("%d peers: protobuf: status %d, %d bytes", peers, w.Code, w.Body.Len())
		}
		small := scrape(t, p, "Accept-Encoding", "gzip")
		if small.Header().Get("Content-Encoding") != "gzip" || small.Body.Len() > plain.Body.Len()/4 {
			t.Errorf("%d peers: encoding %q, %d bytes", peers, small.Header().Get("Content-Encoding"), small.Body.Len())
		}
		z, err := gzip.NewReader(small.Body)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil || !bytes.Equal(ours(text), ours(plain.Body.Bytes())) {
			t.Errorf("%d peers: the compressed answer differs, err %v", peers, err)
		}
	}
}

// ours returns ulnet's own metrics in an answer. Unlike metrics of the process, which precede them,
// they do not change between two scrapes.
func ours(text []byte) []byte { return text[bytes.Index(text, []byte("# HELP "+namespace)):] }

func btoi(b bool) int { return int(oneIf(b)) }

// TestFloodOfScrapes: each scrape of a flood is answered, in each format, compressed or not. The
// counters are read only for the first answerBurst scrapes, and then four times a second; the other
// scrapes get the last answer.
func TestFloodOfScrapes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made, source := 0, gathererOf(crowdOf(1), 1000)
		p := newScrapes(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
			made++
			return source.Gather()
		}), silent)
		flood := func(want int) {
			t.Helper()
			made = 0
			for i := range 1000 {
				encoding := []string{"gzip", "identity"}[i%2]
				w := scrape(t, p, "Accept-Encoding", encoding, "Accept", []string{"text/plain;version=0.0." + strconv.Itoa(i), wantsProtobuf}[i/2%2])
				if w.Code != http.StatusOK || w.Body.Len() < 100 || (w.Header().Get("Content-Encoding") == "gzip") != (i%2 == 0) {
					t.Fatalf("scrape %d: status %d, %d bytes, %v", i, w.Code, w.Body.Len(), w.Header())
				}
			}
			if made != want {
				t.Errorf("1000 scrapes at one instant read the counters %d times, want %d", made, want)
			}
		}
		flood(answerBurst)
		time.Sleep(answerInterval)
		flood(1)
	})
}

// TestFailedScrape: if the metrics cannot be read, scrapes get an error until the next answer is
// made.
func TestFailedScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := true
		p := newScrapes(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
			if fails {
				return nil, errors.New("no counters")
			}
			return nil, nil
		}), silent)
		for range answerBurst + 1 {
			if w := scrape(t, p); w.Code != http.StatusInternalServerError {
				t.Fatalf("status %d", w.Code)
			}
		}
		fails = false
		time.Sleep(answerInterval)
		if w := scrape(t, p); w.Code != http.StatusOK {
			t.Errorf("later: status %d", w.Code)
		}
	})
}

// TestEncodings: the answer is compressed for a client that names gzip and does not refuse it.
func TestEncodings(t *testing.T) {
	p := pageOf(1)
	for accept, want := range map[string]string{
		"": "", "identity": "", "gzip": "gzip", "deflate, GZIP ;q=0.5": "gzip", "gzip;q=1.0": "gzip",
		"gzip;q=0": "", "gzip; q=0.000, br": "", "gzip;q=x": "", "gzipped": "", ",;,=": "",
	} {
		if got := scrape(t, p, "Accept-Encoding", accept).Header().Get("Content-Encoding"); got != want {
			t.Errorf("%q: encoding %q, want %q", accept, got, want)
		}
	}
}

// TestFloodOfReadyz: the state of the node is read for a burst of requests, and then four times
// a second.
func TestFloodOfReadyz(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, status := 0, fullState(nil).status
		h := readyz(func() node.Status {
			read++
			return status
		})
		for range 1000 {
			if w := scrape(t, h); w.Code != http.StatusOK || w.Body.Len() == 0 {
				t.Fatalf("status %d, %q", w.Code, w.Body)
			}
		}
		if read != answerBurst {
			t.Errorf("1000 requests at one instant read the state %d times, want %d", read, answerBurst)
		}
		status = node.Status{}
		time.Sleep(answerInterval)
		if w := scrape(t, h); w.Code != http.StatusServiceUnavailable || read != answerBurst+1 {
			t.Errorf("later: status %d, the state was read %d times", w.Code, read)
		}
	})
}

// BenchmarkScrape (G-OP-2): an answer with a thousand peers, in each format.
func BenchmarkScrape(b *testing.B) {
	for name, accept := range map[string]string{"text": "", "protobuf": wantsProtobuf} {
		b.Run(name, func(b *testing.B) {
			p := pageOf(1000)
			b.ReportAllocs()
			for b.Loop() {
				p.answers.tokens = tokens{}
				b.ReportMetric(float64(scrape(b, p, "Accept", accept).Body.Len()), "bytes")
			}
		})
	}
}
