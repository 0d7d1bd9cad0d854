package metrics

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ulnet/lnd/lndtest/spec"
)

func pageOf(peers int) *page {
	return &page{metrics: promhttp.HandlerFor(gathererOf(crowdOf(peers), 1000), promhttp.HandlerOpts{})}
}

// TestScrapeSize: the answer with a thousand peers, and with many more, has 1 MiB at
// most, plain and compressed.
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

// ours returns the part of an answer that does not change between two scrapes: what is not about
// the process.
func ours(text []byte) []byte { return text[bytes.Index(text, []byte("# HELP "+namespace)):] }

func btoi(b bool) int { return int(oneIf(b)) }

// TestFloodOfScrapes: a burst is answered, more is refused, and later ones are answered again.
func TestFloodOfScrapes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, answered := pageOf(1), 0
		for range 1000 {
			w := scrape(t, p)
			switch {
			case w.Code == http.StatusOK:
				answered++
			case w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "":
				t.Fatalf("status %d, %v", w.Code, w.Header())
			}
		}
		if answered != scrapeBurst {
			t.Errorf("%d of 1000 scrapes at one instant were answered, want %d", answered, scrapeBurst)
		}
		time.Sleep(scrapeInterval)
		if w := scrape(t, p); w.Code != http.StatusOK {
			t.Errorf("later: status %d", w.Code)
		}
		if w := scrape(t, p); w.Code != http.StatusServiceUnavailable {
			t.Errorf("one more: status %d", w.Code)
		}
	})
}

// BenchmarkScrape (G-OP-2): an answer with a thousand peers.
func BenchmarkScrape(b *testing.B) {
	p := pageOf(1000)
	b.ReportAllocs()
	for b.Loop() {
		p.tokens = tokens{}
		scrape(b, p)
	}
}
