package webcapture

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"ulnet/cmd/internal/web"
)

const (
	reportInterval = 200 * time.Millisecond // time between two reports
	endTimeout     = 100 * time.Millisecond // when the daemon ends, a capture must end within this time
)

// Report is an event of the stream of a capture.
type Report struct {
	Lines   []Line `json:"lines"`           // messages since the last report, in their order
	Missed  uint64 `json:"missed"`          // messages since the last report that are left out, because there were too many
	Records uint64 `json:"records"`         // messages so far that the filter has selected
	Bytes   int    `json:"bytes"`           // bytes of the capture so far
	Dropped uint64 `json:"dropped"`         // packets so far that are not in the capture, because they came too fast
	Ended   string `json:"ended,omitempty"` // why the capture has ended; empty: it goes on
}

// start runs a capture.
func (c *Capture) start(w http.ResponseWriter, r *http.Request) {
	order, filter, err := ReadOrder(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	kept, ok := c.begin(order.MiB << 20)
	if !ok {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "another capture runs, or lnetd ends: there is one at a time", http.StatusConflict)
		return
	}
	defer c.end()
	c.cfg.Log.Info("a capture of the page begins", slog.String("from", r.RemoteAddr), slog.Bool("payload", order.Payload))
	w.Header().Set("Content-Type", "text/event-stream")
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(order.Seconds)*time.Second)
	defer cancel()
	run := &run{Capture: c, w: &client{ResponseWriter: w}, kept: kept, lines: newLines(filter, order.Payload)}
	why := run.watch(ctx, order.Payload)
	c.cfg.Log.Info("a capture of the page has ended", slog.String("why", why), slog.Int("bytes", kept.len()))
}

// run is a capture that runs.
type run struct {
	*Capture
	w     *client
	kept  *keeper
	lines *lines
}

// watch captures and sends reports until the capture has ended, and returns why it has ended. When watch
// returns, no goroutine of the capture runs any more.
func (r *run) watch(parent context.Context, payload bool) (why string) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	defer r.hurry()()
	failed := make(chan error, 1)
	go func() { failed <- r.capture(ctx, payload) }()
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()
	var err error
	for goes := true; goes; {
		if !r.report("") {
			cancel()
			r.kept.leave()
			<-failed
			return "the client has gone away or does not read"
		}
		select {
		case <-tick.C:
		case err = <-failed:
			failed <- nil // for the code after the loop, which always receives from failed once
			goes = false
		case <-r.done:
			goes = false
		case <-ctx.Done():
			goes = false
		}
	}
	cancel()
	err = cmp.Or(err, <-failed)
	why = r.reason(parent, err)
	_ = r.report(why) // the client may be gone, which no longer matters
	return why
}

// hurry makes the capture end within endTimeout once the daemon ends, even if its client does not read.
// Call stop when the capture has ended.
func (r *run) hurry() (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-r.done:
			r.w.endBy(time.Now().Add(endTimeout))
			late := time.AfterFunc(endTimeout, r.kept.leave) // the decoder may be behind: it then leaves out the rest
			defer late.Stop()
			<-quit
		case <-quit:
		}
	}()
	return func() { close(quit); <-ended }
}

// capture captures until ctx ends, or there are as many bytes as may be kept. The end of ctx is
// no error; the full capture is errFull. Decoding may fall behind the capture, and goes on after its end.
func (r *run) capture(ctx context.Context, payload bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	decoded := make(chan error, 1)
	go func() {
		err := r.lines.decode(r.kept)
		if err != nil {
			cancel()
		}
		decoded <- err
	}()
	err := r.cfg.View(ctx, r.kept, payload)
	r.kept.finish()
	return cmp.Or(<-decoded, err)
}

// reason says why a capture has ended.
func (r *run) reason(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, errFull):
		return "it has as many bytes as it may have"
	case err != nil:
		return err.Error()
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "its time is over"
	case ctx.Err() != nil:
		return "the client has gone away"
	}
	return "lnetd ends"
}

// report sends a report, and reports whether the client can have received it.
func (r *run) report(ended string) bool {
	e := Report{Bytes: r.kept.len(), Dropped: r.kept.lacks(), Ended: ended}
	e.Lines, e.Missed, e.Records = r.lines.take()
	text, err := json.Marshal(&e)
	return err == nil && web.SendEvent(r.w, text)
}
