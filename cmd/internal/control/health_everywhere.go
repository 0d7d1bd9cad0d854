package control

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ulnet/cmd/internal/node"
)

func (s *Server) healthEverywhereRoute() {
	s.handle("GET /v1/health/everywhere", accessRead, s.stream(func(w http.ResponseWriter, r *http.Request) error {
		filter, err := everywhereFilter(r.URL.Query())
		if err != nil {
			return &refusal{http.StatusBadRequest, fmt.Errorf("request: %w", err)}
		}
		list, err := s.cfg.Node.HealthEverywhere(r.Context(), filter)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.cfg.StallTimeout)) // Unix sockets have deadlines
		return answerIf(w, list, err)
	}))
}

// everywhereFilter reads the query of a list of the clients of all servers.
func everywhereFilter(q url.Values) (f node.HealthEverywhereFilter, err error) {
	for key := range q { // any order: the first that is wrong is as good as another
		if key != "differ" && key != "limit" {
			return f, fmt.Errorf("unknown parameter %q", key)
		}
	}
	if text := q.Get("limit"); text != "" {
		if f.Limit, err = strconv.Atoi(text); err != nil || f.Limit < 0 || f.Limit > node.MaxHealthLimit {
			return f, fmt.Errorf("limit %q: want a number up to %d", text, node.MaxHealthLimit)
		}
	}
	if text := q.Get("differ"); text != "" {
		if f.Differ, err = strconv.ParseBool(text); err != nil {
			return f, fmt.Errorf("differ %q: want true or false", text)
		}
	}
	return f, nil
}

// HealthEverywhere has the daemon ask all servers for their clients.
func (c *Client) HealthEverywhere(ctx context.Context, f node.HealthEverywhereFilter) (list node.HealthEverywhere, err error) {
	q := url.Values{"limit": {strconv.Itoa(f.Limit)}, "differ": {strconv.FormatBool(f.Differ)}}
	return list, c.call(ctx, http.MethodGet, "/v1/health/everywhere?"+q.Encode(), nil, &list)
}
