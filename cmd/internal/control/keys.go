package control

import (
	"context"
	"net/http"

	"ulnet/cmd/internal/node"
)

// KeyRing is what the server controls of keys.
type KeyRing interface {
	Keys() []node.KeysStatus
	KeysReload() error
}

func (s *Server) keysRoutes() {
	n := s.cfg.Node
	handleRead(s, "GET /v1/keys", func(*http.Request) ([]node.KeysStatus, error) { return n.Keys(), nil })
	s.handle("POST /v1/keys/reload", accessWrite, s.gossipCommand(n.KeysReload))
}

// Keys returns which sections have keys, and what these have verified.
func (c *Client) Keys(ctx context.Context) (list []node.KeysStatus, err error) {
	return list, c.call(ctx, http.MethodGet, "/v1/keys", nil, &list)
}

// KeysReload has the daemon read its files of keys again.
func (c *Client) KeysReload(ctx context.Context) error {
	return c.callWith(ctx, "/v1/keys/reload", nothing{}, nil)
}
