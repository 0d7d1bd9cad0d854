package control

import (
	"context"
	"net/http"

	"ulnet/cmd/internal/handlers"
	"ulnet/cmd/internal/node"
)

// EventHandlers is what the server controls of event handlers.
type EventHandlers interface {
	Handlers() []handlers.Status
	TestHandler(context.Context, node.HandlerName) (handlers.Run, error)
}

func (s *Server) handlerRoutes() {
	n := s.cfg.Node
	handleRead(s, "GET /v1/handlers", func(*http.Request) ([]handlers.Status, error) { return n.Handlers(), nil })
	s.handle("POST /v1/handlers/test", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, n.TestHandler)
	})
}

// Handlers returns the state of the daemon's event handlers.
func (c *Client) Handlers(ctx context.Context) (list []handlers.Status, err error) {
	return list, c.call(ctx, http.MethodGet, "/v1/handlers", nil, &list)
}

// TestHandler has the daemon run an event handler on an event of a test, and returns how
// that ended.
func (c *Client) TestHandler(ctx context.Context, name string) (r handlers.Run, err error) {
	return r, c.call(ctx, http.MethodPost, "/v1/handlers/test", node.HandlerName{Name: name}, &r)
}
