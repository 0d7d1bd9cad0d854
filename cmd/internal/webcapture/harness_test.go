package webcapture

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

const token = "a-token-of-more-than-32-characters"

// rig is a Capture of a tap into which a test puts messages.
type rig struct {
	*Capture
	t   *testing.T
	tap *capture.Writer
	log *safeBuffer

	mu    sync.Mutex
	views int // number of calls of Config.View that have not returned; guarded by mu
}

// safeBuffer is a buffer for several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

// Write implements io.Writer.
func (b *safeBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(text)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, log: &safeBuffer{}}
	var err error
	if r.tap, err = capture.NewWriter(nil, time.Now); err != nil {
		t.Fatal(err)
	}
	r.Capture = New(Config{
		View: func(ctx context.Context, out io.Writer, payload bool) error {
			r.view(1)
			defer r.view(-1)
			if payload {
				return r.tap.View(ctx, out)
			}
			return r.tap.ViewHeaders(ctx, out)
		},
		Token: func() ([]byte, error) { return []byte(token), nil }, Name: "node",
		Log: slog.New(slog.NewTextHandler(r.log, nil)),
	})
	return r
}

func (r *rig) view(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.views += n
}

// viewers returns how many calls of Config.View have not returned.
func (r *rig) viewers() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.views
}

// put puts a multicast PUT with a payload into the tap.
func (r *rig) put(payload string) {
	r.t.Helper()
	d := wire.Datagram{Payload: []byte(payload), Header: wire.Header{
		SrcNID: nid.MustParse("10.0.0.1@tcp"), DestNID: nid.MustParse("239.76.0.5@tcp"),
		SrcPID: nid.LustrePID, DestPID: nid.LustrePID, PayloadLength: uint32(len(payload)),
	}}
	d.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: 7, Portal: 63})
	b, err := ksock.Datagrams.Append(nil, &d)
	if err != nil {
		r.t.Fatal(err)
	}
	r.tap.Datagram(netip.MustParseAddrPort("10.0.0.1:40000"), netip.MustParseAddrPort("239.76.0.5:10988"), true, [][]byte{b})
}

// request returns a request with the token.
func request(method, path, body string) *http.Request {
	q := httptest.NewRequest(method, path, strings.NewReader(body))
	q.Header.Set("Authorization", "Bearer "+token)
	return q
}

// get returns the answer to a request for a download.
func (r *rig) get(q *http.Request) *httptest.ResponseRecorder {
	w := &recorder{httptest.NewRecorder()}
	r.Download().ServeHTTP(w, q)
	return w.ResponseRecorder
}

// recorder is a ResponseRecorder of httptest with the method SetWriteDeadline, which downloads need.
type recorder struct{ *httptest.ResponseRecorder }

// SetWriteDeadline takes a deadline, without effect.
func (*recorder) SetWriteDeadline(time.Time) error { return nil }

// packets returns the packets of the download, which must be a valid capture, and its bytes.
func (r *rig) packets() (n int, text []byte) {
	r.t.Helper()
	w := r.get(request(http.MethodGet, DownloadPath, ""))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/x-pcapng" || w.Header().Get("Content-Length") != fmt.Sprint(w.Body.Len()) {
		r.t.Fatalf("download: status %d, %v, %d bytes", w.Code, w.Header(), w.Body.Len())
	}
	text = w.Body.Bytes()
	in, err := capture.NewReader(bytes.NewReader(text))
	if err != nil {
		r.t.Fatal(err)
	}
	for ; ; n++ {
		if _, err := in.Next(); err == io.EOF {
			return n, text
		} else if err != nil {
			r.t.Fatal(err)
		}
	}
}

// browser gets the stream of a capture.
type browser struct {
	deaf   bool // reads nothing: Write waits until the deadline
	header http.Header

	mu       sync.Mutex
	status   int
	deadline time.Time // guarded by mu, like what follows
	refusal  string    // text of an answer that is no stream
	lines    []Line
	missed   uint64
	last     Report
	over     bool // the handler has returned
}

// Header implements http.ResponseWriter.
func (c *browser) Header() http.Header { return c.header }

// WriteHeader implements http.ResponseWriter.
func (c *browser) WriteHeader(status int) { c.status = status }

// Write implements http.ResponseWriter.
func (c *browser) Write(text []byte) (int, error) {
	if c.deaf {
		for time.Now().Before(c.until()) { // in virtual time; the deadline may become earlier meanwhile
			time.Sleep(time.Millisecond)
		}
		return 0, os.ErrDeadlineExceeded
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	event, ok := bytes.CutPrefix(text, []byte("data: "))
	if !ok {
		c.refusal += string(text)
		return len(text), nil
	}
	c.last = Report{}
	if err := json.Unmarshal(event, &c.last); err != nil {
		return 0, err
	}
	c.lines, c.missed = append(c.lines, c.last.Lines...), c.missed+c.last.Missed
	return len(text), nil
}

// FlushError is called after each event.
func (c *browser) FlushError() error { return nil }

// SetWriteDeadline is called before each event, and when the daemon ends.
func (c *browser) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return nil
}

// until returns the present deadline.
func (c *browser) until() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deadline
}

// now returns what the client has got so far.
func (c *browser) now() (last Report, lines []Line, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.lines, c.over
}

// order makes a client send the order of a capture and follow its stream until ctx ends.
func (r *rig) order(ctx context.Context, c *browser, body string) *browser {
	c.header, c.status = http.Header{}, http.StatusOK
	q := request(http.MethodPost, StartPath, body).WithContext(ctx)
	go func() {
		r.Start().ServeHTTP(c, q)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.over = true
	}()
	return c
}
