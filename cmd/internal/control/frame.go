package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"ulnet/lnet/wire"
)

// frame has the fields that a line of an operation's answer has in addition to those of the
// step: the length of the payload after the line, or how the operation ended.
type frame struct {
	Size  int    `json:"payload,omitempty"` // number of payload bytes that follow the line
	End   bool   `json:"end,omitempty"`     // the operation has succeeded and ends
	Error *Error `json:"error,omitempty"`   // the operation has failed and ends
}

// frameWriter writes the frames of an operation.
type frameWriter struct {
	out   *stallWriter
	lines *bufio.Writer
}

// frames starts an answer that consists of frames.
func (s *Server) frames(w http.ResponseWriter) *frameWriter {
	w.Header().Set("Content-Type", "application/x-ulnet-steps")
	out := s.stallWriter(w)
	return &frameWriter{out, bufio.NewWriter(out)}
}

// report writes a step with its payload.
func (f *frameWriter) report(step any, payload []byte) error {
	line, err := json.Marshal(step)
	if err != nil {
		return err
	}
	return f.write(line, frame{Size: len(payload)}, payload)
}

// finish writes the end of the operation. An error of the connection is ignored.
func (f *frameWriter) finish(err error) {
	last := frame{End: err == nil}
	if err != nil {
		last.Error = newError(err)
	}
	_ = f.write(nil, last, nil)
}

// write writes the line of a step, a JSON object or nothing, followed by the payload.
func (f *frameWriter) write(step []byte, rest frame, payload []byte) error {
	line, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	switch {
	case len(line) == len("{}"):
		line = step
	case len(step) > len("{}"):
		line = append(append(step[:len(step)-1], ','), line[1:]...)
	}
	_, _ = f.lines.Write(append(line, '\n')) // a later Flush reports an error of this Write
	_, _ = f.lines.Write(payload)
	if err := f.lines.Flush(); err != nil {
		return err
	}
	return f.out.flush()
}

// stallWriter writes an answer of unbounded length. Each write has a deadline, so that the answer
// ends with an error if the client stops reading.
type stallWriter struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	begun   bool // Write was called, so that the status of the answer is 200
}

func (s *Server) stallWriter(w http.ResponseWriter) *stallWriter {
	rc := http.NewResponseController(w)
	_ = rc.EnableFullDuplex() // cannot fail: HTTP/1.1 supports full duplex
	// Clear the read deadline of the request, so that a client that only reads is not cut off.
	_ = rc.SetReadDeadline(time.Time{})
	return &stallWriter{w: w, rc: rc, timeout: s.cfg.StallTimeout}
}

func (s *stallWriter) Write(b []byte) (int, error) {
	s.begun = true
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.timeout)) // cannot fail on Unix sockets
	return s.w.Write(b)
}

func (s *stallWriter) flush() error { return s.rc.Flush() }

// Flush sends the buffered data. It makes stallWriter an http.Flusher.
func (s *stallWriter) Flush() { _ = s.flush() }

// errCut means that the connection ended before the last frame.
var errCut = errors.New("the daemon has gone away")

// readFrames reads an answer of frames to its end and reports every step.
func readFrames[S Step[S]](body io.Reader, report func(S) error) error {
	r := bufio.NewReaderSize(body, maxRequest)
	var payload []byte
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("%w: %w", errCut, err)
		}
		var step S
		var f frame
		if err = json.Unmarshal(line, &f); err == nil {
			err = json.Unmarshal(line, &step)
		}
		if err != nil {
			return fmt.Errorf("answer of the daemon: %w", err)
		}
		switch {
		case f.Error != nil:
			return f.Error
		case f.End:
			return nil
		case f.Size < 0 || f.Size > wire.MaxPayload:
			return fmt.Errorf("answer of the daemon: payload of %d bytes", f.Size)
		}
		if cap(payload) < f.Size {
			payload = make([]byte, f.Size)
		}
		payload = payload[:f.Size]
		if _, err := io.ReadFull(r, payload); err != nil {
			return fmt.Errorf("%w: %w", errCut, err)
		}
		if err := report(step.Attach(payload)); err != nil {
			return err
		}
	}
}
