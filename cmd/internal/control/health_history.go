package control

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

func (s *Server) healthHistoryRoutes() {
	s.handle("GET /v1/health/history", accessRead, func(w http.ResponseWriter, r *http.Request) error {
		filter, err := pastFilter(r.URL.Query())
		if err != nil {
			return &refusal{http.StatusBadRequest, fmt.Errorf("request: %w", err)}
		}
		list, err := s.cfg.Node.HealthHistory(filter)
		return answerIf(w, list, err)
	})
	s.handle("GET /v1/health/tombstones", accessRead, func(w http.ResponseWriter, r *http.Request) error {
		filter, err := pastFilter(r.URL.Query())
		if err != nil {
			return &refusal{http.StatusBadRequest, fmt.Errorf("request: %w", err)}
		}
		list, err := s.cfg.Node.HealthTombstones(node.HealthTombstoneFilter(filter))
		return answerIf(w, list, err)
	})
}

// pastFilter reads the query of a list of evictions or tombstones.
func pastFilter(q url.Values) (f node.HealthPastFilter, err error) {
	for key := range q { // any order: the first that is wrong is as good as another
		if key != "client" && key != "nid" && key != "since" && key != "limit" {
			return f, fmt.Errorf("unknown parameter %q", key)
		}
	}
	f.Client = q.Get("client")
	if text := q.Get("nid"); text != "" {
		if f.NID, err = nid.Parse(text); err != nil {
			return f, cli.Hint(err, "a NID looks like 10.0.0.1@tcp")
		}
	}
	if text := q.Get("since"); text != "" {
		if f.Since, err = time.ParseDuration(text); err != nil || f.Since < 0 {
			return f, fmt.Errorf("since %q: want a time such as 10m", text)
		}
	}
	if text := q.Get("limit"); text != "" {
		if f.Limit, err = strconv.Atoi(text); err != nil || f.Limit < 0 || f.Limit > node.MaxHealthLimit {
			return f, fmt.Errorf("limit %q: want a number up to %d", text, node.MaxHealthLimit)
		}
	}
	return f, nil
}

// pastQuery is the inverse of pastFilter.
func pastQuery(f node.HealthPastFilter) string {
	q := url.Values{}
	if f.Client != "" {
		q.Set("client", f.Client)
	}
	if f.NID.IsValid() {
		q.Set("nid", f.NID.String())
	}
	if f.Since != 0 {
		q.Set("since", f.Since.String())
	}
	if f.Limit != 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return q.Encode()
}

// HealthHistory lists evictions by the daemon.
func (c *Client) HealthHistory(ctx context.Context, f node.HealthPastFilter) (list node.HealthPast, err error) {
	return list, c.call(ctx, http.MethodGet, "/v1/health/history?"+pastQuery(f), nil, &list)
}

// HealthTombstones lists the tombstones of the daemon.
func (c *Client) HealthTombstones(ctx context.Context, f node.HealthTombstoneFilter) (list node.HealthTombstones, err error) {
	return list, c.call(ctx, http.MethodGet, "/v1/health/tombstones?"+pastQuery(node.HealthPastFilter(f)), nil, &list)
}
