// Package webcapture lets a browser start a capture of the daemon, watch it decoded and download it.
// Each of these requests must have a token.
//
// A capture is a POST of an [Order]. The answer is a stream of server-sent events, each a [Report] with
// the decoded messages since the last one, as lnetdump shows them. The capture ends when its time is
// over, when it has as many bytes as it may have, when the client goes away or does not read for 10 s, or
// when the daemon ends. What it has captured can be downloaded as pcapng until the next capture begins,
// or for [KeepTime].
//
// One capture runs at a time, and everything about it is bounded. It is one more viewer of the daemon's
// tap: drivers do not wait for a viewer, and while there is no viewer nothing is captured.
package webcapture

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// KeepTime is how long a capture can be downloaded after its end.
const KeepTime = 10 * time.Minute

// Paths of the handlers.
const (
	StartPath    = "/capture"        // path of the order that starts a capture
	DownloadPath = "/capture.pcapng" // path of the page with the last capture
)

// Config configures a Capture.
type Config struct {
	// View writes every message from now on to out as pcapng, in whole blocks, until ctx ends or out
	// fails, and never waits for out. If payload is false, zeros replace the payload of messages. It
	// calls out's method Dropped with the number of packets that it has left out, see
	// capture.Writer.View.
	View func(ctx context.Context, out io.Writer, payload bool) error
	// Token reads the token that clients must know. Nil: there is none, and all requests are refused.
	Token func() ([]byte, error)
	Name  string       // name of the file that is downloaded, without .pcapng
	Log   *slog.Logger // log of the daemon; required
}

// Capture answers requests for captures. All methods are safe for concurrent use.
type Capture struct {
	cfg   Config
	gate  gate
	done  chan struct{} // closed by Close
	close sync.Once
	ended sync.WaitGroup // waits for the capture that runs

	downloads chan struct{} // holds a token for each download, of which one runs at a time

	mu      sync.Mutex
	running bool        // a capture runs; guarded by mu, like the fields below
	last    *keeper     // bytes of the capture that runs, or of the last one; nil: there are none
	forget  *time.Timer // sets last to nil; nil while a capture runs
}

// New returns a Capture. Close ends it.
func New(cfg Config) *Capture {
	return &Capture{cfg: cfg, done: make(chan struct{}), downloads: make(chan struct{}, 1)}
}

// Start returns the handler of StartPath, and Download that of DownloadPath.
func (c *Capture) Start() http.Handler { return c.guarded(c.start) }

// Download returns the handler that answers with the last capture.
func (c *Capture) Download() http.Handler { return c.guarded(c.download) }

// Status is what clients without the token may know of captures.
type Status struct {
	Running bool   // a capture runs
	Bytes   int    // bytes of the capture that runs or, if none does, of the last one; 0: there is none to download
	Wrong   uint64 // requests with a wrong token or without one
}

// Status returns the present status; nil if there is no token, so that there are no captures.
func (c *Capture) Status() *Status {
	if c.cfg.Token == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &Status{Running: c.running, Wrong: c.gate.wrong.Load()}
	if c.last != nil {
		s.Bytes = c.last.len()
	}
	return s
}

// Close ends the capture that runs, and waits for it until ctx ends.
func (c *Capture) Close(ctx context.Context) error {
	c.close.Do(func() { close(c.done) })
	c.mu.Lock()
	if c.forget != nil {
		c.forget.Stop()
	}
	c.running = true // so that no other capture begins
	c.mu.Unlock()
	ended := make(chan struct{})
	go func() { defer close(ended); c.ended.Wait() }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return errors.New("a capture of the page has not ended")
	}
}

// begin begins a capture of at most limit bytes, which replaces the last one, and returns where its bytes are
// kept. If a capture runs already, ok is false. If ok is true, the caller calls end when the capture has ended.
func (c *Capture) begin(limit int) (k *keeper, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		return nil, false
	}
	if c.forget != nil {
		c.forget.Stop()
		c.forget = nil
	}
	c.ended.Add(1)
	c.running, c.last = true, newKeeper(limit)
	return c.last, true
}

// end ends the capture that runs.
func (c *Capture) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.ended.Done()
	select {
	case <-c.done:
		c.last = nil
		return
	default:
	}
	c.running = false
	k := c.last
	c.forget = time.AfterFunc(KeepTime, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.last == k && !c.running {
			c.last = nil
		}
	})
}
