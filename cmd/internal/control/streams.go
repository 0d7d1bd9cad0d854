package control

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"ulnet/cmd/internal/cli"
)

// eventBacklog is how many events are queued for a slow reader; further events are dropped and
// counted.
const eventBacklog = 256

// Events distributes log lines to all listeners. It is an io.Writer for slog.NewJSONHandler:
// each Write is one line. The zero value is ready for use.
type Events struct {
	mu        sync.Mutex
	listeners map[*listener]struct{} // clients that read events; guarded by mu
}

type listener struct {
	lines  chan []byte
	missed int // number of events dropped after the last one in lines; guarded by Events.mu
}

// Write gives a copy of line to every listener. It never blocks: if a listener is too slow,
// lines for it are dropped and counted. The next line that it gets follows a line with their number.
func (e *Events) Write(line []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.listeners) == 0 {
		return len(line), nil
	}
	shared := append([]byte(nil), line...)
	for l := range e.listeners {
		l.put(shared)
	}
	return len(line), nil
}

// put queues a line, or counts it if there is no room. The caller holds Events.mu, so that no other goroutine fills the
// queue meanwhile.
func (l *listener) put(line []byte) {
	if len(l.lines) == cap(l.lines) {
		l.missed++
		return
	}
	if l.missed > 0 {
		line = append(gap(l.missed), line...)
		l.missed = 0
	}
	l.lines <- line
}

// gap returns the line that stands for events that were dropped.
func gap(missed int) []byte { return fmt.Appendf(nil, "{\"missed\":%d}\n", missed) }

func (e *Events) listen() *listener {
	l := &listener{lines: make(chan []byte, eventBacklog)}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.listeners == nil {
		e.listeners = make(map[*listener]struct{})
	}
	e.listeners[l] = struct{}{}
	return l
}

func (e *Events) leave(l *listener) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.listeners, l)
}

// takeMissed returns how many lines were dropped after the last one that was queued. It returns 0 while lines are
// queued, because those come before the gap.
func (e *Events) takeMissed(l *listener) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(l.lines) > 0 {
		return 0
	}
	n := l.missed
	l.missed = 0
	return n
}

func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	l := s.cfg.Events.listen()
	defer s.cfg.Events.leave(l)
	out := s.stallWriter(w)
	w.WriteHeader(http.StatusOK)
	if out.flush() != nil {
		return nil // the client has closed the connection
	}
	for {
		select {
		case line := <-l.lines:
			if n := s.cfg.Events.takeMissed(l); n > 0 {
				line = slices.Concat(line, gap(n)) // a copy, because other listeners have the same line
			}
			if _, err := out.Write(line); err != nil {
				return nil // the client has closed the connection
			}
			if out.flush() != nil {
				return nil
			}
		case <-r.Context().Done():
			return nil
		}
	}
}

func (s *Server) capture(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Capture == nil {
		return &refusal{http.StatusNotFound, cli.Hint(errors.New("this daemon captures nothing"), "try --capture of lnetd")}
	}
	view := s.cfg.Capture.View
	if accessOf(r) < accessWrite {
		leave, err := enter(s.viewers, "captures")
		if err != nil {
			return err
		}
		defer leave()
		view = s.cfg.Capture.ViewHeaders // members of the socket's group must not see payload
		w.Header().Set(headersOnlyHeader, "true")
	}
	w.Header().Set("Content-Type", "application/x-pcapng")
	out := s.stallWriter(w)
	err := view(r.Context(), out) // ends when the client closes the connection
	if err == nil || out.begun {
		return nil
	}
	return &refusal{http.StatusServiceUnavailable, cli.Hint(err, "if there are too many captures end some, such as those of lnetdump --daemon; try again")}
}

// headersOnlyHeader marks a capture in which payload is replaced by zeros.
const headersOnlyHeader = "Ulnet-Headers-Only"
