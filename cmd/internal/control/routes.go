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
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

func (s *Server) routes() {
	s.handle("GET /v1/status", accessRead, s.status)
	s.handle("GET /v1/peers", accessRead, s.peers)
	s.handle("GET /v1/events", accessRead, s.stream(s.events))
	s.handle("GET /v1/capture", accessRead, s.stream(s.capture))
	s.handle("POST /v1/ping", accessWrite, s.ping)
	s.handle("POST /v1/discover", accessWrite, s.discover)
	s.handle("POST /v1/set", accessWrite, s.set)
	s.handle("POST /v1/net/add", accessWrite, s.addNetworks)
	s.handle("POST /v1/net/del", accessWrite, s.removeNet)
	s.handle("POST /v1/fault/fail", accessWrite, s.failNID)
	s.handle("POST /v1/fault/add", accessWrite, s.addFault)
	s.handle("POST /v1/fault/end", accessWrite, s.endFault)
	s.handle("POST /v1/msg/sink", accessWrite, s.stream(s.sink))
	s.handle("POST /v1/msg/put", accessWrite, s.stream(s.put))
	s.handle("POST /v1/msg/serve", accessWrite, s.stream(s.serve))
	s.handle("POST /v1/msg/get", accessWrite, s.stream(s.get))
	s.gossipRoutes()
	s.scollRoutes()
	s.healthRoutes()
	s.zoneRoutes()
	s.keysRoutes()
	s.handlerRoutes()
	s.mcastRoutes()
	s.handle("/", accessRead, func(_ http.ResponseWriter, r *http.Request) error {
		return &refusal{http.StatusNotFound, cli.Hint(fmt.Errorf("there is no %s %s", r.Method, r.URL.Path),
			"do the command and lnetd come from the same version?")}
	})
}

// handler answers a request, or returns an error before it has written
// anything.
type handler func(http.ResponseWriter, *http.Request) error

// handle routes requests of those who have the access.
func (s *Server) handle(pattern string, need access, h handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		s.active.Add(1)
		defer s.active.Done()
		s.deadlines(w)
		if accessOf(r) < need {
			fail(w, &refusal{http.StatusForbidden, cli.Hint(errors.New("permission denied"),
				"root and the user of lnetd may do everything, the group of its socket may look")})
			return
		}
		if err := h(w, r); err != nil {
			fail(w, err)
		}
	})
}

// accessOf returns what the client of a request may do.
func accessOf(r *http.Request) access {
	has, _ := r.Context().Value(accessKey{}).(access)
	return has
}

// stream wraps a handler whose answer has no end of its own: a bounded number
// at a time.
func (s *Server) stream(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		streams := s.streams[accessOf(r)]
		select {
		case streams <- struct{}{}:
		default:
			return &refusal{http.StatusServiceUnavailable, cli.Hint(errors.New("too many operations at a time"),
				"end some of them and try again")}
		}
		defer func() { <-streams }()
		return h(w, r)
	}
}

// deadlines bounds the reading of a request and the writing of its answer.
func (s *Server) deadlines(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	now := time.Now()
	_ = rc.SetReadDeadline(now.Add(s.cfg.RequestTimeout)) // Unix sockets have deadlines
	_ = rc.SetWriteDeadline(now.Add(s.cfg.StallTimeout))
}

// request reads the JSON object of a request into v and returns a reader of
// the data behind it. From then on reading has no deadline: data come as fast
// as their user types, and a connection that closes is noticed.
func request(w http.ResponseWriter, r *http.Request, v any) (io.Reader, error) {
	body := bufio.NewReaderSize(r.Body, maxRequest)
	line, err := body.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, &refusal{http.StatusRequestEntityTooLarge, fmt.Errorf("request of more than %d bytes", maxRequest)}
	case err != nil && !errors.Is(err, io.EOF):
		return nil, &refusal{http.StatusBadRequest, fmt.Errorf("read request: %w", err)}
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

// end refuses data behind a request that has none. It reads to the end of the
// body, from where on the server notices when the client goes.
func end(data io.Reader) error {
	if n, err := io.CopyN(io.Discard, data, 1); n > 0 || !errors.Is(err, io.EOF) {
		return &refusal{http.StatusBadRequest, errors.New("request: data where there should be none")}
	}
	return nil
}

func answer(w http.ResponseWriter, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // the client has gone
	return nil
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, s.cfg.Node.Status())
}

func (s *Server) ping(w http.ResponseWriter, r *http.Request) error {
	return operate(s, w, r, s.cfg.Node.Ping)
}

func (s *Server) discover(w http.ResponseWriter, r *http.Request) error {
	return operate(s, w, r, s.cfg.Node.Discover)
}

func (s *Server) set(w http.ResponseWriter, r *http.Request) error {
	return operate(s, w, r, func(_ context.Context, setting node.Setting) (node.Setting, error) {
		return setting, s.cfg.Node.Set(setting)
	})
}

func (s *Server) addNetworks(w http.ResponseWriter, r *http.Request) error {
	return operate(s, w, r, func(_ context.Context, add node.AddRequest) (node.AddRequest, error) {
		return add, s.cfg.Node.AddNetworks(add)
	})
}

func (s *Server) removeNet(w http.ResponseWriter, r *http.Request) error {
	return operate(s, w, r, func(ctx context.Context, remove node.RemoveRequest) (node.RemoveRequest, error) {
		return remove, s.cfg.Node.RemoveNet(ctx, remove)
	})
}

func (s *Server) failNID(w http.ResponseWriter, r *http.Request) error {
	return operate(s, w, r, func(_ context.Context, fail node.FailRequest) (node.FailRequest, error) {
		return fail, s.cfg.Node.Fail(fail)
	})
}

func (s *Server) addFault(w http.ResponseWriter, r *http.Request) error {
	return operate(s, w, r, func(_ context.Context, f node.AddFault) (node.AddedFault, error) {
		return s.cfg.Node.AddFault(f)
	})
}

func (s *Server) endFault(w http.ResponseWriter, r *http.Request) error {
	return operate(s, w, r, func(_ context.Context, e node.EndFault) (node.EndFault, error) {
		return e, s.cfg.Node.EndFault(e)
	})
}

// operate answers a request that has no data with what do returns.
func operate[Request, Reply any](s *Server, w http.ResponseWriter, r *http.Request, do func(context.Context, Request) (Reply, error)) error {
	var req Request
	data, err := request(w, r, &req)
	if err == nil {
		err = end(data)
	}
	if err != nil {
		return err
	}
	reply, err := do(r.Context(), req)
	if err != nil {
		return err
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.cfg.StallTimeout))
	return answer(w, reply)
}
