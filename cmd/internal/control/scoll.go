package control

import (
	"context"
	"io"
	"net/http"
	"time"

	"ulnet/cmd/internal/node"
)

// Scoll is what the server controls of collectives.
type Scoll interface {
	Collectives() (node.CollectiveStatus, error)
	Broadcast(context.Context, node.BroadcastRequest, io.Reader) (node.BroadcastReply, error)
	Bench(context.Context, node.BenchRequest) (node.BenchReply, error)
	GroupCreate(node.GroupCreate, io.Reader) error
	GroupDestroy(context.Context, node.GroupName) error
}

func (s *Server) scollRoutes() {
	n := s.cfg.Node
	s.handle("GET /v1/scoll", accessRead, func(w http.ResponseWriter, _ *http.Request) error {
		status, err := n.Collectives()
		return answerIf(w, status, err)
	})
	s.handle("POST /v1/scoll/broadcast", accessWrite, s.stream(s.broadcast))
	s.handle("POST /v1/scoll/bench", accessWrite, s.stream(func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, n.Bench)
	}))
	s.handle("POST /v1/scoll/group/create", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		var create node.GroupCreate
		nids, err := request(w, r, &create)
		if err == nil {
			err = n.GroupCreate(create, nids)
		}
		return answerIf(w, create, err)
	})
	s.handle("POST /v1/scoll/group/destroy", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, func(ctx context.Context, g node.GroupName) (node.GroupName, error) {
			return g, n.GroupDestroy(ctx, g)
		})
	})
}

// broadcast takes the bulk data of a broadcast to their end before it begins. A
// client that goes away ends it.
func (s *Server) broadcast(w http.ResponseWriter, r *http.Request) error {
	var req node.BroadcastRequest
	bulk, err := request(w, r, &req)
	if err != nil {
		return err
	}
	reply, err := s.cfg.Node.Broadcast(r.Context(), req, bulk)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.cfg.StallTimeout)) // Unix sockets have deadlines
	return answerIf(w, reply, err)
}

// Collectives returns what the daemon knows of collectives.
func (c *Client) Collectives(ctx context.Context) (s node.CollectiveStatus, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/scoll", nil, &s)
}

// Broadcast has the daemon ask the servers of a group. Bulk may be nil.
func (c *Client) Broadcast(ctx context.Context, r node.BroadcastRequest, bulk io.Reader) (reply node.BroadcastReply, err error) {
	return reply, c.callWithData(ctx, "/v1/scoll/broadcast", r, bulk, &reply)
}

// Bench has the daemon measure the latency of a group.
func (c *Client) Bench(ctx context.Context, r node.BenchRequest) (reply node.BenchReply, err error) {
	return reply, c.call(ctx, http.MethodPost, "/v1/scoll/bench", r, &reply)
}

// GroupCreate has the daemon name servers as a group.
func (c *Client) GroupCreate(ctx context.Context, r node.GroupCreate, nids io.Reader) error {
	return c.callWith(ctx, "/v1/scoll/group/create", r, nids)
}

// GroupDestroy has the daemon and all members forget a group.
func (c *Client) GroupDestroy(ctx context.Context, r node.GroupName) error {
	return c.callWith(ctx, "/v1/scoll/group/destroy", r, nil)
}
