package control

import (
	"context"
	"io"
	"net/http"
	"time"

	"ulnet/cmd/internal/node"
)

// Mcast is what the server controls of reliable multicast.
type Mcast interface {
	McastStatus() (node.McastStatus, error)
	McastJoin(context.Context, node.McastJoin) (node.McastJoin, error)
	McastLeave(context.Context, node.McastJoin) (node.McastJoin, error)
	McastExpel(context.Context, node.McastExpel) (node.McastExpel, error)
	SetMcastFaults(context.Context, node.McastFaults) (node.McastFaults, error)
	McastSend(context.Context, node.McastSend, io.Reader) (node.McastSent, error)
	McastReceive(context.Context, node.McastReceive, node.Report) error
	BenchMcast(context.Context, node.McastBenchRequest, node.Report) error
}

func (s *Server) mcastRoutes() {
	n := s.cfg.Node
	handleRead(s, "GET /v1/mcast", func(*http.Request) (node.McastStatus, error) { return n.McastStatus() })
	s.handle("POST /v1/mcast/join", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, n.McastJoin)
	})
	s.handle("POST /v1/mcast/leave", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, n.McastLeave)
	})
	s.handle("POST /v1/mcast/expel", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, n.McastExpel)
	})
	s.handle("POST /v1/mcast/faults", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, n.SetMcastFaults)
	})
	s.handle("POST /v1/mcast/send", accessWrite, s.stream(s.mcastSend))
	s.handle("POST /v1/mcast/receive", accessWrite, s.stream(func(w http.ResponseWriter, r *http.Request) error {
		return stepByStep(s, w, r, n.McastReceive)
	}))
	s.handle("POST /v1/mcast/bench", accessWrite, s.stream(func(w http.ResponseWriter, r *http.Request) error {
		return stepByStep(s, w, r, n.BenchMcast)
	}))
}

// mcastSend sends while messages come, and answers when all members have them.
func (s *Server) mcastSend(w http.ResponseWriter, r *http.Request) error {
	var req node.McastSend
	data, err := request(w, r, &req)
	if err != nil {
		return err
	}
	reply, err := s.cfg.Node.McastSend(r.Context(), req, data)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.cfg.StallTimeout)) // Unix sockets have deadlines
	return answerIf(w, reply, err)
}

// stepByStep answers a request that has no data with the steps of an operation.
func stepByStep[Request any](s *Server, w http.ResponseWriter, r *http.Request, do func(context.Context, Request, node.Report) error) error {
	var req Request
	data, err := request(w, r, &req)
	if err == nil {
		err = end(data)
	}
	if err != nil {
		return err
	}
	f := s.frames(w)
	f.finish(do(r.Context(), req, f.report))
	return nil
}

// McastStatus returns what the daemon knows of reliable multicast.
func (c *Client) McastStatus(ctx context.Context) (s node.McastStatus, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/mcast", nil, &s)
}

// McastJoin has the daemon join a group.
func (c *Client) McastJoin(ctx context.Context, r node.McastJoin) error {
	return c.callWith(ctx, "/v1/mcast/join", r, nil)
}

// McastLeave has the daemon leave a group.
func (c *Client) McastLeave(ctx context.Context, r node.McastJoin) error {
	return c.callWith(ctx, "/v1/mcast/leave", r, nil)
}

// McastExpel has the daemon, a manager of a group, take the members on a node for ended.
func (c *Client) McastExpel(ctx context.Context, r node.McastExpel) error {
	return c.callWith(ctx, "/v1/mcast/expel", r, nil)
}

// SetMcastFaults has the daemon discard what arrives for a group.
func (c *Client) SetMcastFaults(ctx context.Context, f node.McastFaults) error {
	return c.callWith(ctx, "/v1/mcast/faults", f, nil)
}

// McastSend has the daemon send messages to a group.
func (c *Client) McastSend(ctx context.Context, r node.McastSend, messages io.Reader) (sent node.McastSent, err error) {
	return sent, c.callWithData(ctx, "/v1/mcast/send", r, messages, &sent)
}

// McastReceive reports what is delivered at the daemon.
func (c *Client) McastReceive(ctx context.Context, r node.McastReceive, report node.Report) error {
	return c.operate(ctx, "/v1/mcast/receive", r, nil, report)
}

// BenchMcast has the daemon measure a group.
func (c *Client) BenchMcast(ctx context.Context, r node.McastBenchRequest, report node.Report) error {
	return c.operate(ctx, "/v1/mcast/bench", r, nil, report)
}
