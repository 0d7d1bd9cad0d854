package control

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"ulnet/cmd/internal/node"
	"ulnet/gossip/zone"
)

// Zone is what the server controls of zones.
type Zone interface {
	ZoneStatus() (zone.AgentStatus, error)
	ZoneMembers(node.ZoneFilter) ([]node.ZoneMember, error)
	ZoneEvents(from uint64) (node.ZoneEvents, error)
	ZoneSuspicions() ([]zone.SuspicionStatus, error)
	ZoneCensus() ([]zone.CensusEntry, error)
	ZoneOf(ctx context.Context, name string) ([]zone.Named, error)
	ZoneTopology() (node.ZoneTopology, error)
	ZoneAttributes(nameOrID string) (node.ZoneAttributes, error)
	ZoneExplain(nameOrID string) (zone.Explanation, error)
	ZoneWrite(node.ZoneWrite) error
	ZoneJoin() error
	ZoneLeave(node.ZoneGoodbye) error
	ZoneRemove(node.ZoneNode) error
}

func (s *Server) zoneRoutes() {
	n := s.cfg.Node
	handleRead(s, "GET /v1/zone", func(*http.Request) (zone.AgentStatus, error) { return n.ZoneStatus() })
	handleRead(s, "GET /v1/zone/members", func(r *http.Request) ([]node.ZoneMember, error) {
		q := r.URL.Query()
		return n.ZoneMembers(node.ZoneFilter{State: q.Get("state"), Tags: q["tag"]})
	})
	handleRead(s, "GET /v1/zone/suspicions", func(*http.Request) ([]zone.SuspicionStatus, error) { return n.ZoneSuspicions() })
	handleRead(s, "GET /v1/zone/census", func(*http.Request) ([]zone.CensusEntry, error) { return n.ZoneCensus() })
	handleRead(s, "GET /v1/zone/topology", func(*http.Request) (node.ZoneTopology, error) { return n.ZoneTopology() })
	handleRead(s, "GET /v1/zone/of", func(r *http.Request) ([]zone.Named, error) {
		return n.ZoneOf(r.Context(), r.URL.Query().Get("zone"))
	})
	handleRead(s, "GET /v1/zone/attributes", func(r *http.Request) (node.ZoneAttributes, error) {
		return n.ZoneAttributes(r.URL.Query().Get("node"))
	})
	handleRead(s, "GET /v1/zone/explain", func(r *http.Request) (zone.Explanation, error) {
		return n.ZoneExplain(r.URL.Query().Get("node"))
	})
	handleRead(s, "GET /v1/zone/events", func(r *http.Request) (node.ZoneEvents, error) {
		from, err := strconv.ParseUint(r.URL.Query().Get("from"), 10, 64)
		if err != nil {
			return node.ZoneEvents{}, &refusal{http.StatusBadRequest, fmt.Errorf("request: from: want a number, not %q", r.URL.Query().Get("from"))}
		}
		return n.ZoneEvents(from)
	})
	s.handle("POST /v1/zone/write", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, func(_ context.Context, c node.ZoneWrite) (node.ZoneWrite, error) { return c, n.ZoneWrite(c) })
	})
	s.handle("POST /v1/zone/join", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, func(_ context.Context, none nothing) (nothing, error) { return none, n.ZoneJoin() })
	})
	s.handle("POST /v1/zone/remove", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, func(_ context.Context, who node.ZoneNode) (node.ZoneNode, error) { return who, n.ZoneRemove(who) })
	})
	s.handle("POST /v1/zone/leave", accessWrite, func(w http.ResponseWriter, r *http.Request) error {
		return operate(s, w, r, func(_ context.Context, g node.ZoneGoodbye) (node.ZoneGoodbye, error) { return g, n.ZoneLeave(g) })
	})
}

// handleRead handles a question.
func handleRead[T any](s *Server, pattern string, ask func(*http.Request) (T, error)) {
	s.handle(pattern, accessRead, func(w http.ResponseWriter, r *http.Request) error {
		v, err := ask(r)
		return answerIf(w, v, err)
	})
}

// ZoneStatus returns the state of the daemon's zone in numbers.
func (c *Client) ZoneStatus(ctx context.Context) (s zone.AgentStatus, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/zone", nil, &s)
}

// ZoneMembers returns the members of the zone and those that went, as a filter wants them.
func (c *Client) ZoneMembers(ctx context.Context, f node.ZoneFilter) (list []node.ZoneMember, err error) {
	q := url.Values{"tag": f.Tags}
	if f.State != "" {
		q.Set("state", f.State)
	}
	return list, c.call(ctx, http.MethodGet, "/v1/zone/members?"+q.Encode(), nil, &list)
}

// ZoneEvents returns the last events from a number on.
func (c *Client) ZoneEvents(ctx context.Context, from uint64) (e node.ZoneEvents, err error) {
	return e, c.call(ctx, http.MethodGet, "/v1/zone/events?from="+strconv.FormatUint(from, 10), nil, &e)
}

// ZoneSuspicions returns the reports that were not refuted.
func (c *Client) ZoneSuspicions(ctx context.Context) (list []zone.SuspicionStatus, err error) {
	return list, c.call(ctx, http.MethodGet, "/v1/zone/suspicions", nil, &list)
}

// ZoneCensus returns what the management zone knows of base zones.
func (c *Client) ZoneCensus(ctx context.Context) (list []zone.CensusEntry, err error) {
	return list, c.call(ctx, http.MethodGet, "/v1/zone/census", nil, &list)
}

// ZoneOf asks who is in a base zone.
func (c *Client) ZoneOf(ctx context.Context, name string) (list []zone.Named, err error) {
	return list, c.call(ctx, http.MethodGet, "/v1/zone/of?zone="+url.QueryEscape(name), nil, &list)
}

// ZoneTopology returns the ring and the links of the daemon's node.
func (c *Client) ZoneTopology(ctx context.Context) (t node.ZoneTopology, err error) {
	return t, c.call(ctx, http.MethodGet, "/v1/zone/topology", nil, &t)
}

// ZoneAttributes returns the attributes of a node; "" is the daemon's.
func (c *Client) ZoneAttributes(ctx context.Context, nameOrID string) (t node.ZoneAttributes, err error) {
	return t, c.call(ctx, http.MethodGet, "/v1/zone/attributes?node="+url.QueryEscape(nameOrID), nil, &t)
}

// ZoneExplain returns all that is known of a node.
func (c *Client) ZoneExplain(ctx context.Context, nameOrID string) (x zone.Explanation, err error) {
	return x, c.call(ctx, http.MethodGet, "/v1/zone/explain?node="+url.QueryEscape(nameOrID), nil, &x)
}

// ZoneWrite writes or deletes an attribute of the daemon's node.
func (c *Client) ZoneWrite(ctx context.Context, w node.ZoneWrite) error {
	return c.callWith(ctx, "/v1/zone/write", w, nil)
}

// ZoneJoin has the daemon's node join its zone again.
func (c *Client) ZoneJoin(ctx context.Context) error {
	return c.callWith(ctx, "/v1/zone/join", nothing{}, nil)
}

// ZoneRemove removes a member from the views of the zone.
func (c *Client) ZoneRemove(ctx context.Context, nameOrID string) error {
	return c.callWith(ctx, "/v1/zone/remove", node.ZoneNode{Node: nameOrID}, nil)
}

// ZoneLeave has it say goodbye.
func (c *Client) ZoneLeave(ctx context.Context, g node.ZoneGoodbye) error {
	return c.callWith(ctx, "/v1/zone/leave", g, nil)
}
