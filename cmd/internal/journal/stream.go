package journal

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

// maxWaiting bounds the lines that wait for the reader of a Stream, in bytes.
const maxWaiting = 256 << 10

// Stream writes to standard error, such as a pipe to a collector of logs, for a process that must not block
// when nothing reads the pipe. A line that the file does not take in sendTimeout waits in a bounded queue.
// From then on until the queue is empty again, lines for which the queue has no room are dropped. Then one
// line says how many were dropped. While the file is read, Write returns when the line is written, so that
// none is lost in a crash. All methods are safe for concurrent use.
type Stream struct {
	w      io.Writer
	blocks bool // writing to w may block: it is a file

	mu      sync.Mutex
	format  func(io.Writer) slog.Handler // makes the handler for the line that says how many lines were dropped; guarded by mu, like all below
	queue   [][]byte                     // lines that wait
	size    int                          // bytes of the lines that wait
	dropped uint64                       // lines dropped since the queue was last empty
	idle    chan struct{}                // closed when all lines are written; nil: all are written already
	stalled bool                         // a line has waited for sendTimeout; until all lines are written, Write does not wait for any other
}

// NewStream returns a Stream that writes to w, or w itself if it is one. If w is no file, writing to it
// does not block, and nothing is dropped.
func NewStream(w io.Writer) *Stream {
	if s, ok := w.(*Stream); ok {
		return s
	}
	_, file := w.(*os.File)
	return &Stream{w: w, blocks: file, format: func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) }}
}

// SetFormat sets the format of the line that says how many lines were dropped: the handler that the function
// format returns writes that line. The default is text.
func (s *Stream) SetFormat(format func(io.Writer) slog.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.format = format
}

// Write writes one line or more. It waits for sendTimeout at most, and reports no errors.
func (s *Stream) Write(lines []byte) (int, error) {
	if !s.blocks {
		return s.w.Write(lines)
	}
	if idle, wait := s.add(lines); wait && !waited(idle, sendTimeout) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stalled = s.idle == idle
	}
	return len(lines), nil
}

// Flush waits until all lines are written, but no longer than limit.
func (s *Stream) Flush(limit time.Duration) {
	s.mu.Lock()
	idle := s.idle
	s.mu.Unlock()
	if idle != nil {
		waited(idle, limit)
	}
}

// waited reports whether a channel is closed within limit.
func waited(c <-chan struct{}, limit time.Duration) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-c:
		return true
	case <-late.C:
		return false
	}
}

// add queues or drops lines. If wait is true, they are written when idle is closed, or soon after.
func (s *Stream) add(lines []byte) (idle <-chan struct{}, wait bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped > 0 || s.size+len(lines) > maxWaiting && s.size > 0 {
		s.dropped++
		return nil, false
	}
	s.queue, s.size = append(s.queue, bytes.Clone(lines)), s.size+len(lines)
	if s.idle == nil {
		s.idle = make(chan struct{})
		go s.drain()
	}
	return s.idle, !s.stalled
}

// drain writes the lines that wait, until none is left.
func (s *Stream) drain() {
	for lines := s.next(); lines != nil; lines = s.next() {
		_, _ = s.w.Write(lines) // an error cannot be reported anywhere else
	}
}

// next returns what is to be written next: lines, then the line about those that were dropped. When nothing
// is left, it returns nil.
func (s *Stream) next() (lines []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		lines, s.queue = s.queue[0], s.queue[1:]
		s.size -= len(lines)
		return lines
	}
	if s.dropped > 0 {
		lines = s.tell(s.dropped)
		s.dropped = 0
		return lines
	}
	close(s.idle)
	s.queue, s.idle, s.stalled = nil, nil, false
	return nil
}

// tell returns the line that says how many lines were dropped. The caller holds mu.
func (s *Stream) tell(lines uint64) []byte {
	var b bytes.Buffer
	r := slog.NewRecord(time.Now(), slog.LevelWarn, "standard error was not read: lines of this log were dropped", 0)
	r.AddAttrs(slog.Uint64("lines", lines))
	_ = s.format(&b).Handle(context.Background(), r) // cannot fail: b takes all
	return b.Bytes()
}
