// Package page is the web page of the daemon, for operators: which servers are alive, the NIs of the node
// and their traffic, peers, routes, clients, collectives and what happens, in tables and a few
// charts. It can only be read; its script may ask package webcapture for a capture.
//
// The page is a few embedded files without anything from other hosts. Its script gets a [State] in
// JSON, and then the sections of it that change, as server-sent events (SSE). The state is read only
// while a browser asks for it, at most once each [Interval] for all browsers together, and made of
// what the operations of the control socket return.
package page

import (
	"net/http"
	"sync"
	"time"
)

// Interval is the usual shortest time between two readings of the state, and between two messages
// to a browser.
const Interval = time.Second

// MaxStreams is the number of browsers that can follow the state at a time. Further ones get the
// status 503 and ask again.
const MaxStreams = 8

// Page serves the web page, and the state of the node to the page's script.
type Page struct {
	read     func() *State
	interval time.Duration
	streams  chan struct{} // one token for each open stream; full: no further stream is allowed
	done     chan struct{} // closed by Close
	close    sync.Once

	mu       sync.Mutex
	sections []section     // sections of the State; guarded by mu, like the fields below
	version  uint64        // number of the last reading
	at       time.Time     // when the last reading began
	reading  chan struct{} // closed when the reading under way has ended; nil: there is none
}

// New returns the page of a node. The function read returns a new copy of the state of the node;
// one call runs at a time, and the interval passes between two.
func New(read func() *State, interval time.Duration) *Page {
	return &Page{read: read, interval: interval, streams: make(chan struct{}, MaxStreams), done: make(chan struct{})}
}

// Pages returns the handlers by their paths.
func (p *Page) Pages() map[string]http.Handler {
	all := files()
	all["/state"] = http.HandlerFunc(p.serveState)
	all["/events"] = http.HandlerFunc(p.serveEvents)
	return all
}

// Close ends the streams. It does not wait for them.
func (p *Page) Close() { p.close.Do(func() { close(p.done) }) }

// serveState answers with the whole state.
func (p *Page) serveState(w http.ResponseWriter, _ *http.Request) {
	message, _, ok := p.since(0)
	if !ok {
		http.Error(w, "the node does not answer: see 'lnetctl doctor' and the log of lnetd", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(message, '\n')) // an error means that the client is gone
}
