package control

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// peers answers with a page of the peers, or with those of the node of a NID.
func (s *Server) peers(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	only, err := nidOf(q, "nid")
	if err != nil {
		return err
	}
	if only.IsValid() {
		return answer(w, s.cfg.Node.PeersOf(only))
	}
	after, err := nidOf(q, "after")
	if err != nil {
		return err
	}
	limit := node.MaxPeerPage
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > node.MaxPeerPage {
			return &refusal{http.StatusBadRequest, fmt.Errorf("limit: want 1 to %d, not %q", node.MaxPeerPage, text)}
		}
	}
	return answer(w, s.cfg.Node.Peers(after, limit))
}

// nidOf parses a parameter, which may be absent.
func nidOf(q url.Values, key string) (id nid.NID, err error) {
	if text := q.Get(key); text != "" {
		if id, err = nid.Parse(text); err != nil {
			return id, &refusal{http.StatusBadRequest, fmt.Errorf("%s: %w", key, err)}
		}
	}
	return id, nil
}

// Peers returns a page of the peers of the daemon's node, see node.Node.Peers.
func (c *Client) Peers(ctx context.Context, after nid.NID, limit int) (page node.PeerPage, err error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	if after.IsValid() {
		q.Set("after", after.String())
	}
	return page, c.call(ctx, http.MethodGet, "/v1/peers?"+q.Encode(), nil, &page)
}

// PeersOf returns the peers of the node that a NID belongs to.
func (c *Client) PeersOf(ctx context.Context, id nid.NID) (page node.PeerPage, err error) {
	return page, c.call(ctx, http.MethodGet, "/v1/peers?"+url.Values{"nid": {id.String()}}.Encode(), nil, &page)
}
