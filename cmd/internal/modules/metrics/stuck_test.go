package metrics

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"ulnet/cmd/internal/web"
	"ulnet/lnd/lndtest/spec"
)

// TestStuckScrape: a client that waits as long as Prometheus does by default gets an answer from the server
// of the metrics in that time: the status 503 if the node is stuck, and the metrics if the node is only slow.
func TestStuckScrape(t *testing.T) {
	spec.Covers(t, "OP-24")
	const patience = 10*time.Second - 100*time.Millisecond // scrape_timeout of Prometheus, less the time on the way
	for took, want := range map[time.Duration]int{patience / 2: http.StatusOK, time.Hour: http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			p := newScrapes(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
				time.Sleep(took)
				return nil, nil
			}), silent)
			status, text := scrapeWithin(t, patience, p)
			if status != want || want != http.StatusOK && !strings.Contains(text, "does not answer") {
				t.Errorf("a node that takes %v: status %d, %q, want %d", took, status, text, want)
			}
			time.Sleep(took) // waits until the goroutine that reads the node has ended, as synctest requires
		})
	}
}

// scrapeWithin returns the answer of a server with a page to a client that waits for the time patience.
func scrapeWithin(t *testing.T, patience time.Duration, page http.Handler) (status int, text string) {
	t.Helper()
	s := web.New(web.Config{Log: silent})
	s.Handle("/metrics", page)
	l := pipes(make(chan net.Conn))
	s.Start(l)
	near, far := net.Pipe()
	l <- far
	if err := near.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(near, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	r, err := http.ReadResponse(bufio.NewReader(near), nil)
	if err == nil {
		body, _ := io.ReadAll(r.Body)
		status, text = r.StatusCode, string(body)
	} else {
		t.Error(err)
	}
	near.Close()
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return status, text
}

// pipes is a listener for connections in virtual time.
type pipes chan net.Conn

// Accept implements net.Listener.
func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (p pipes) Close() error {
	close(p)
	return nil
}

// Addr implements net.Listener.
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }
