package page

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// browser is a client of the stream: it keeps what is written to it, or reads nothing.
type browser struct {
	deaf bool // reads nothing: Write waits until the deadline

	mu       sync.Mutex
	header   http.Header
	status   int
	deadline time.Time
	text     bytes.Buffer
	messages int // number of messages that have come
}

func (b *browser) Header() http.Header { return b.header }

func (b *browser) WriteHeader(status int) { b.status = status }

func (b *browser) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deaf {
		time.Sleep(time.Until(b.deadline)) // takes no real time, because the clock is virtual
		return 0, os.ErrDeadlineExceeded
	}
	b.text.Reset()
	b.messages++
	return b.text.Write(text)
}

func (b *browser) FlushError() error { return nil }

func (b *browser) SetWriteDeadline(t time.Time) error {
	b.deadline = t
	return nil
}

// last returns the last message, and how many have come.
func (b *browser) last() (string, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.TrimSuffix(b.text.String(), "\n\n"), b.messages
}

// follow makes a browser follow the page until the context ends. The function ended is called at
// the end of the stream.
func follow(ctx context.Context, p *Page, b *browser, ended func()) {
	b.header, b.status = http.Header{}, http.StatusOK
	r := httptest.NewRequest(http.MethodGet, "/events", http.NoBody).WithContext(ctx)
	go func() {
		p.Pages()["/events"].ServeHTTP(b, r)
		ended()
	}()
}

// get returns the answer of a page.
func get(t testing.TB, p *Page, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	p.Pages()[path].ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return w
}

// source is a state that is read and changed by several goroutines. The time in the state is the
// number of the reading.
type source struct {
	mu       sync.Mutex
	state    State
	reads    int
	timeless bool      // each reading returns the same time
	stuck    chan bool // not nil: a reading waits until this channel is closed
}

// read returns the state, for New.
func (s *source) read() *State {
	s.mu.Lock()
	s.reads++
	if !s.timeless {
		s.state.Now.TimeMS = int64(s.reads)
	}
	state, stuck := s.state, s.stuck
	s.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	return &state
}

// count returns how often the state was read.
func (s *source) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// change changes the source while it is not read.
func (s *source) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}
