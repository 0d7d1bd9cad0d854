package control

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/health"
	"ulnet/lnet/nid"
)

// Health is what the server controls of client health.
type Health interface {
	HealthStatus() (node.HealthStatus, error)
	HealthClients(node.HealthFilter) (node.HealthClients, error)
	HealthClient(idOrName string) (health.ClientInfo, error)
	HealthServers() ([]node.HealthPeer, error)
	HealthEverywhere(context.Context, node.HealthEverywhereFilter) (node.HealthEverywhere, error)
	HealthHistory(node.HealthPastFilter) (node.HealthPast, error)
	HealthTombstones(node.HealthTombstoneFilter) (node.HealthTombstones, error)
	HealthEvict(context.Context, node.HealthEvict) (node.HealthEvicted, error)
	HealthEviction(node.HealthEvictionOf) (node.HealthEviction, error)
	HealthDrain(node.HealthDrain) error
}

func (s *Server) healthRoutes() {
	n := s.cfg.Node
	s.healthHistoryRoutes()
	s.healthEverywhereRoute()
	s.handle("GET /v1/health", accessRead, func(w http.ResponseWriter, _ *http.Request) error {
		status, err := n.HealthStatus()
		return answerIf(w, status, err)
	})
	s.handle("GET /v1/health/clients", accessRead, func(w http.ResponseWriter, r *http.Request) error {
		filter, err := healthFilter(r.URL.Query())
		if err != nil {
			return &refusal{http.StatusBadRequest, fmt.Errorf("request: %w", err)}
		}
		clients, err := n.HealthClients(filter)
		return answerIf(w, clients, err)
	})
	s.handle("GET /v1/health/client", accessRead, func(w http.ResponseWriter, r *http.Request) error {
		info, err := n.HealthClient(r.URL.Query().Get("client"))
		return answerIf(w, info, err)
	})
	s.handle("GET /v1/health/servers", accessRead, func(w http.ResponseWriter, _ *http.Request) error {
		servers, err := n.HealthServers()
		return answerIf(w, servers, err)
	})
	s.handle("POST /v1/health/evict", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, n.HealthEvict)
	})
	s.handle("GET /v1/health/eviction", accessRead, func(w http.ResponseWriter, r *http.Request) error {
		of, err := evictionOf(r.URL.Query())
		if err != nil {
			return &refusal{http.StatusBadRequest, fmt.Errorf("request: %w", err)}
		}
		e, err := n.HealthEviction(of)
		return answerIf(w, e, err)
	})
	s.handle("POST /v1/health/drain", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, func(_ context.Context, d node.HealthDrain) (node.HealthDrain, error) {
			return d, n.HealthDrain(d)
		})
	})
}

// healthFilter reads the query of a list of clients.
func healthFilter(q url.Values) (f node.HealthFilter, err error) {
	for key := range q { // any order: the first that is wrong is as good as another
		if key != "master" && key != "nid" && key != "state" && key != "limit" {
			return f, fmt.Errorf("unknown parameter %q", key)
		}
	}
	for key, id := range map[string]*nid.NID{"master": &f.Master, "nid": &f.NID} { // any order: likewise
		if text := q.Get(key); text != "" {
			if *id, err = nid.Parse(text); err != nil {
				return f, cli.Hint(err, "a NID looks like 10.0.0.1@tcp")
			}
		}
	}
	if text := q.Get("limit"); text != "" {
		if f.Limit, err = strconv.Atoi(text); err != nil || f.Limit < 0 || f.Limit > node.MaxHealthLimit {
			return f, fmt.Errorf("limit %q: want a number up to %d", text, node.MaxHealthLimit)
		}
	}
	f.State = q.Get("state")
	return f, nil
}

// evictionOf reads the query of an eviction.
func evictionOf(q url.Values) (of node.HealthEvictionOf, err error) {
	if of.Client, err = health.ParseClientID(q.Get("client")); err != nil {
		return of, err
	}
	of.Incarnation, err = strconv.ParseUint(q.Get("incarnation"), 10, 64)
	return of, err
}

// HealthStatus returns what the daemon knows of client health.
func (c *Client) HealthStatus(ctx context.Context) (s node.HealthStatus, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/health", nil, &s)
}

// HealthClients lists clients of the daemon.
func (c *Client) HealthClients(ctx context.Context, f node.HealthFilter) (list node.HealthClients, err error) {
	q := url.Values{}
	if f.Master.IsValid() {
		q.Set("master", f.Master.String())
	}
	if f.NID.IsValid() {
		q.Set("nid", f.NID.String())
	}
	if f.State != "" {
		q.Set("state", f.State)
	}
	if f.Limit != 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return list, c.call(ctx, http.MethodGet, "/v1/health/clients?"+q.Encode(), nil, &list)
}

// HealthClient returns one client of the daemon, by its id or its name.
func (c *Client) HealthClient(ctx context.Context, idOrName string) (info health.ClientInfo, err error) {
	q := url.Values{"client": {idOrName}}
	return info, c.call(ctx, http.MethodGet, "/v1/health/client?"+q.Encode(), nil, &info)
}

// HealthServers lists the servers as the daemon knows them.
func (c *Client) HealthServers(ctx context.Context) (list []node.HealthPeer, err error) {
	return list, c.call(ctx, http.MethodGet, "/v1/health/servers", nil, &list)
}

// HealthEvict has the daemon evict a client from all servers.
func (c *Client) HealthEvict(ctx context.Context, r node.HealthEvict) (reply node.HealthEvicted, err error) {
	return reply, c.call(ctx, http.MethodPost, "/v1/health/evict", r, &reply)
}

// HealthEviction asks how far an eviction by the daemon is.
func (c *Client) HealthEviction(ctx context.Context, of node.HealthEvictionOf) (e node.HealthEviction, err error) {
	q := url.Values{"client": {of.Client.String()}, "incarnation": {strconv.FormatUint(of.Incarnation, 10)}}
	return e, c.call(ctx, http.MethodGet, "/v1/health/eviction?"+q.Encode(), nil, &e)
}

// HealthDrain has the daemon's clients choose other masters, or takes that back.
func (c *Client) HealthDrain(ctx context.Context, r node.HealthDrain) error {
	return c.callWith(ctx, "/v1/health/drain", r, nil)
}
