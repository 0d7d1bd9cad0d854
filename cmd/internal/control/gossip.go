package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/gossip"
	"ulnet/lnet/nid"
)

// Gossip is what the server controls of gossip.
type Gossip interface {
	GossipStatus() node.GossipStatus
	GossipParams() (node.GossipParams, error)
	GossipHistory() []node.GossipChange
	GossipExplain(nid.NID) (gossip.Explanation, error)
	GossipListStatus() (gossip.RollStatus, error)
	GossipInit(node.GossipInit, io.Reader) error
	GossipStart() error
	GossipStop() error
	GossipStage(io.Reader) error
	GossipCommit(node.GossipCommit) error
	GossipCancel() error
}

// nothing is a request, or an answer, that says nothing.
type nothing struct{}

func (s *Server) gossipRoutes() {
	n := s.cfg.Node
	s.handle("GET /v1/gossip", accessRead, func(w http.ResponseWriter, _ *http.Request) error {
		return answer(w, n.GossipStatus())
	})
	s.handle("GET /v1/gossip/params", accessRead, func(w http.ResponseWriter, _ *http.Request) error {
		p, err := n.GossipParams()
		return answerIf(w, p, err)
	})
	s.handle("GET /v1/gossip/history", accessRead, func(w http.ResponseWriter, _ *http.Request) error {
		return answer(w, n.GossipHistory())
	})
	s.handle("GET /v1/gossip/explain/{nid}", accessRead, s.explainNID)
	s.handle("GET /v1/gossip/list", accessRead, func(w http.ResponseWriter, _ *http.Request) error {
		status, err := n.GossipListStatus()
		return answerIf(w, status, err)
	})
	s.handle("POST /v1/gossip/init", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		var init node.GossipInit
		nids, err := request(w, r, &init)
		if err == nil {
			err = n.GossipInit(init, nids)
		}
		return answerIf(w, init, err)
	})
	s.handle("POST /v1/gossip/list/stage", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		nids, err := request(w, r, &nothing{})
		if err == nil {
			err = n.GossipStage(nids)
		}
		return answerIf(w, nothing{}, err)
	})
	s.handle("POST /v1/gossip/start", accessWrite, s.gossipCommand(n.GossipStart))
	s.handle("POST /v1/gossip/stop", accessWrite, s.gossipCommand(n.GossipStop))
	s.handle("POST /v1/gossip/list/cancel", accessWrite, s.gossipCommand(n.GossipCancel))
	s.handle("POST /v1/gossip/list/commit", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, func(_ context.Context, c node.GossipCommit) (node.GossipCommit, error) {
			return c, n.GossipCommit(c)
		})
	})
}

// gossipCommand handles a command without parameters.
func (s *Server) gossipCommand(do func() error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, func(_ context.Context, none nothing) (nothing, error) { return none, do() })
	}
}

func (s *Server) explainNID(w http.ResponseWriter, r *http.Request) error {
	id, err := nid.Parse(r.PathValue("nid"))
	if err != nil {
		return &refusal{http.StatusBadRequest, cli.Hint(fmt.Errorf("request: %w", err), "a NID looks like 10.0.0.1@tcp")}
	}
	e, err := s.cfg.Node.GossipExplain(id)
	return answerIf(w, e, err)
}

// answerIf answers with v unless there is an error.
func answerIf(w http.ResponseWriter, v any, err error) error {
	if err != nil {
		return err
	}
	return answer(w, v)
}

// GossipStatus returns what the daemon knows by gossip.
func (c *Client) GossipStatus(ctx context.Context) (s node.GossipStatus, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/gossip", nil, &s)
}

// GossipParams returns the parameters of gossip.
func (c *Client) GossipParams(ctx context.Context) (p node.GossipParams, err error) {
	return p, c.call(ctx, http.MethodGet, "/v1/gossip/params", nil, &p)
}

// GossipHistory returns the last changes, the oldest first.
func (c *Client) GossipHistory(ctx context.Context) (h []node.GossipChange, err error) {
	return h, c.call(ctx, http.MethodGet, "/v1/gossip/history", nil, &h)
}

// GossipExplain tells why a participant is thought to be alive or dead.
func (c *Client) GossipExplain(ctx context.Context, id nid.NID) (e gossip.Explanation, err error) {
	return e, c.call(ctx, http.MethodGet, "/v1/gossip/explain/"+url.PathEscape(id.String()), nil, &e)
}

// GossipListStatus returns how far a change of the list is.
func (c *Client) GossipListStatus(ctx context.Context) (s gossip.RollStatus, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/gossip/list", nil, &s)
}

// GossipInit sets the parameters of gossip, and its participants.
func (c *Client) GossipInit(ctx context.Context, r node.GossipInit, nids io.Reader) error {
	return c.callWith(ctx, "/v1/gossip/init", r, nids)
}

// GossipStart has the daemon take part.
func (c *Client) GossipStart(ctx context.Context) error {
	return c.callWith(ctx, "/v1/gossip/start", nothing{}, nil)
}

// GossipStop ends that.
func (c *Client) GossipStop(ctx context.Context) error {
	return c.callWith(ctx, "/v1/gossip/stop", nothing{}, nil)
}

// GossipStage stages a list of participants.
func (c *Client) GossipStage(ctx context.Context, nids io.Reader) error {
	return c.callWith(ctx, "/v1/gossip/list/stage", nothing{}, nids)
}

// GossipCommit changes to the list that was staged.
func (c *Client) GossipCommit(ctx context.Context, r node.GossipCommit) error {
	return c.callWith(ctx, "/v1/gossip/list/commit", r, nil)
}

// GossipCancel gives the staged list up.
func (c *Client) GossipCancel(ctx context.Context) error {
	return c.callWith(ctx, "/v1/gossip/list/cancel", nothing{}, nil)
}

// callWith sends a request with data, and waits for the answer, which says
// nothing new.
func (c *Client) callWith(ctx context.Context, path string, request any, data io.Reader) error {
	body, err := c.do(ctx, http.MethodPost, path, request, data)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, body)
	if err = errors.Join(err, body.Close()); err != nil {
		return c.explain(ctx, fmt.Errorf("answer of the daemon: %w", err))
	}
	return nil
}
