package metrics

import (
	"ulnet/lnet"
	"ulnet/lnet/router"
)

// maxRoutes bounds the routes with a metric of their own; the metric routes counts all routes.
const maxRoutes = 256

// routeTable has what 'lnetctl route show' and 'lnetctl routing show' show.
func routeTable() []group {
	type snapshot = *lnet.RouterSnapshot
	type pool = *router.Buffers
	return []group{
		&objects[int]{labels: []string{"state"}, each: eachRouteState, rows: []row[int]{
			{"routes", "routes", "Routes of this node, by state.", number[int]},
		}},
		&objects[bool]{labels: []string{"net", "gateway"}, each: eachRoute, rows: []row[bool]{
			{"route_up", "ratio", "1: the route can be used; 0: it is down. Only the first 256 routes have this metric.", oneIf},
		}},
		&objects[snapshot]{each: func(s *state, yield func(snapshot, ...string)) { yield(&s.router) }, rows: []row[snapshot]{
			{"router_enabled", "ratio", "1: this node is a router; 0: it is not, or is about to be or to end.", func(r snapshot) float64 { return oneIf(r.Mode == router.On) }},
			{"router_buffer_memory_bytes", "bytes", "Memory of router buffers, in use or kept for later messages.", func(r snapshot) float64 { return number(r.Memory) }},
			{"router_messages", "messages", "Messages that have a router buffer or wait for one.", func(r snapshot) float64 { return number(r.Buffers.Tickets) }},
			{"router_waiting_messages", "messages", "Messages that wait for a router buffer or a credit.", func(r snapshot) float64 { return number(r.Buffers.Waiting) }},
			{"router_stalls_total", "events", "Times that a next hop has stalled.", func(r snapshot) float64 { return number(r.Buffers.Stalls) }},
		}},
		&objects[pool]{labels: []string{"pool"}, each: func(s *state, yield func(pool, ...string)) {
			yield(&s.router.Buffers.Tiny, "tiny")
			yield(&s.router.Buffers.Small, "small")
			yield(&s.router.Buffers.Large, "large")
		}, rows: []row[pool]{
			{"router_buffers", "buffers", "Router buffers that are configured.", func(p pool) float64 { return number(p.Buffers) }},
			{"router_buffer_credits", "buffers", "Free router buffers; a negative number: so many messages wait for one.", func(p pool) float64 { return number(p.Credits) }},
			{"router_buffer_credits_min", "buffers", "Lowest number of free router buffers so far.", func(p pool) float64 { return number(p.MinCredits) }},
		}},
	}
}

func eachRouteState(s *state, yield func(int, ...string)) {
	up := 0
	for i := range s.routes {
		if s.routes[i].State == routeUp {
			up++
		}
	}
	yield(up, routeUp)
	yield(len(s.routes)-up, "down")
}

// routeUp is the state of a route that can be used.
const routeUp = "up"

func eachRoute(s *state, yield func(bool, ...string)) {
	for i := range s.routes[:min(len(s.routes), maxRoutes)] {
		r := &s.routes[i]
		yield(r.State == routeUp, r.Net, r.Gateway.String())
	}
}
