package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"ulnet/cmd/internal/cli"
)

// The paths of the routes that every server has.
const (
	eventsPath  = "/v1/events"
	capturePath = "/v1/capture"
)

// OwnRoutes returns the routes that every server has in addition to its Config.Routes.
func OwnRoutes() []Route {
	return []Route{
		reportRoute(),
		{Method: http.MethodGet, Path: eventsPath, Doc: "what the daemon logs from now on, one JSON object a line", Kind: Streams, long: true, do: (*Server).events},
		{Method: http.MethodGet, Path: capturePath, Doc: "every message from now on, as pcapng", Kind: Streams, long: true, do: (*Server).capture},
		{Method: http.MethodGet, Path: profilePath, Doc: "a profile of the daemon (pprof): cpu or trace of some time, heap, goroutine and others; only for root and the user of lnetd", Kind: Streams, long: true, private: true, do: (*Server).profile},
	}
}

func (s *Server) routes() {
	for _, r := range slices.Concat(OwnRoutes(), s.cfg.Routes) {
		h := func(w http.ResponseWriter, hr *http.Request) error { return r.do(s, w, hr) }
		need := accessRead
		if r.Method != http.MethodGet || r.private {
			need = accessWrite
		}
		if r.long {
			h = s.stream(h)
		}
		s.handle(r.Method+" "+r.Path, need, h)
	}
	s.handle("/", accessRead, func(_ http.ResponseWriter, r *http.Request) error {
		return &refusal{http.StatusNotFound, cli.Hint(fmt.Errorf("there is no %s %s", r.Method, r.URL.Path),
			"do the command and lnetd come from the same version?")}
	})
}

// handler answers a request. It returns an error only if it has not written anything.
type handler func(http.ResponseWriter, *http.Request) error

// handle registers the handler of a pattern, for clients with at least the access need.
func (s *Server) handle(pattern string, need access, h handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		defer s.active.begin(pattern)()
		s.deadlines(w)
		if accessOf(r) < need {
			s.fail(w, &refusal{http.StatusForbidden, cli.Hint(errors.New(deniedText),
				"root and the user of lnetd may do everything, the group of its socket may look")})
			return
		}
		if err := h(w, r); err != nil {
			s.fail(w, err)
		}
	})
}

// accessOf returns what the client of a request may do.
func accessOf(r *http.Request) access {
	has, _ := r.Context().Value(accessKey{}).(access)
	return has
}

// stream returns a handler for answers of unbounded length: it bounds how many requests run at a
// time.
func (s *Server) stream(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		leave, err := enter(s.streams[accessOf(r)], "operations")
		if err != nil {
			return err
		}
		defer leave()
		return h(w, r)
	}
}

// enter takes a token, until leave is called. It refuses a request for which none is left; what names, for
// the error, the operations that hold the tokens.
func enter(tokens chan struct{}, what string) (leave func(), err error) {
	select {
	case tokens <- struct{}{}:
		return func() { <-tokens }, nil
	default:
		return nil, &refusal{http.StatusServiceUnavailable, cli.Hint(fmt.Errorf("too many %s at a time", what),
			"end some of them and try again")}
	}
}

// deadlines bounds the reading of a request, and the writing of what is sent before its answer (100 Continue).
func (s *Server) deadlines(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.cfg.RequestTimeout)) // cannot fail on Unix sockets
	s.writeNow(w)
}

// writeNow begins the time in which the client must take what is written next. The
// operation may have taken longer than StallTimeout, so an earlier deadline may have passed.
func (s *Server) writeNow(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.cfg.StallTimeout)) // cannot fail on Unix sockets
}

// request reads the JSON object of a request, of at most most bytes, into v and returns a reader of the data
// that follows it. Reading the data has no deadline, because a user may be typing it.
func request(w http.ResponseWriter, r *http.Request, most int, v any) (io.Reader, error) {
	body := bufio.NewReaderSize(r.Body, maxRequest)
	line, err := requestLine(body, most)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return nil, &refusal{http.StatusBadRequest, fmt.Errorf("request: %w", err)}
	}
	if d.More() {
		return nil, &refusal{http.StatusBadRequest, errors.New("request: more than one object on its line")}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, nil
}

// requestLine reads a line of at most most bytes, or what there is before the end of the body.
func requestLine(body *bufio.Reader, most int) (line []byte, err error) {
	for more := true; more; {
		var part []byte
		part, err = body.ReadSlice('\n')
		more = errors.Is(err, bufio.ErrBufferFull)
		line = append(line, part...)
		if len(line) > most || more && len(line) == most {
			return nil, &refusal{http.StatusRequestEntityTooLarge, fmt.Errorf("request of more than %d bytes", most)}
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, &refusal{http.StatusBadRequest, fmt.Errorf("read request: %w", err)}
	}
	return line, nil
}

// end refuses data after a request that takes no data. It reads to the end of the body, because
// only after that does the server notice when the client closes the connection.
func end(data io.Reader) error {
	if n, err := io.CopyN(io.Discard, data, 1); n > 0 || !errors.Is(err, io.EOF) {
		return &refusal{http.StatusBadRequest, errors.New("request: data where there should be none")}
	}
	return nil
}

// answer sends v as the answer, or returns err.
func (s *Server) answer(w http.ResponseWriter, v any, err error) error {
	if err != nil {
		return err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.writeNow(w)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // fails if the client has closed the connection
	return nil
}

// MayChange reports whether the client whose request has this context may do everything: root and the
// user of the daemon. Others get no arguments of programs, which may have secrets.
func MayChange(ctx context.Context) bool {
	has, _ := ctx.Value(accessKey{}).(access)
	return has == accessWrite
}
