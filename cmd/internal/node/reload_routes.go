package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ulnet/cmd/internal/config/tree"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

// routesOf returns the routes of a configuration.
func routesOf(list []tree.Route) (routes []route.Route) {
	for _, r := range list {
		if v, err := r.Value(); err == nil {
			routes = append(routes, v)
		}
	}
	return routes
}

// lacking returns the routes of list that are not in the list in.
func lacking(list, in []route.Route) (lacks []route.Route) {
	has := make(map[route.Route]bool, len(in))
	for _, one := range in {
		has[one] = true
	}
	return slices.DeleteFunc(list, func(one route.Route) bool { return has[one] })
}

// removeRoutes removes routes that the new configuration does not have, or has with other values.
func (r *reload) removeRoutes() {
	list := lacking(routesOf(r.was.Route), routesOf(r.will.Route))
	r.addLines(r.routeKey(), "remove route ", list, func(context.Context) ([]route.Route, func(context.Context) error, error) {
		removed := r.n.removeRoutes(list)
		return removed, func(context.Context) error { return r.n.putBack(removed) }, nil
	})
}

// addRoutes adds the routes that only the new configuration has. It also adds routes of both configurations
// that the node could not use on its old networks, such as those whose gateway is on a network that the node
// was not on. It does not add a route of both configurations that a command has removed.
func (r *reload) addRoutes() {
	list := lacking(routesOf(r.will.Route), routesOf(r.n.usable(r.was.Route)))
	r.addLines(r.routeKey(), "add route ", list, func(context.Context) ([]route.Route, func(context.Context) error, error) {
		applied, err := r.n.applyRoutes(list)
		r.n.logPassed(applied.Passed) // logs unused routes, as at the start of a node
		return applied.Added, func(context.Context) error { r.n.removeRoutes(applied.Added); return nil }, err
	})
}

// addLines adds a step that changes the routes of a list, if there are any. do returns the routes that
// it has changed, and the function that takes the change back.
func (r *reload) addLines(key, what string, list []route.Route, do func(context.Context) ([]route.Route, func(context.Context) error, error)) {
	if len(list) == 0 {
		return
	}
	text := what + list[0].String()
	if more := len(list) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	r.steps = append(r.steps, step{key: key, what: text, do: func(ctx context.Context) ([]string, func(context.Context) error, error) {
		changed, back, err := do(ctx)
		var lines []string
		for _, one := range changed {
			lines = append(lines, what+one.String())
		}
		return lines, back, err
	}})
}

func (r *reload) routeKey() string {
	if r.to.From("route") != "" {
		return "route"
	}
	return "routes"
}

// applyRoutes adds routes as at the start of a node.
func (n *Node) applyRoutes(list []route.Route) (route.Applied, error) {
	n.changing.Lock()
	defer n.changing.Unlock()
	if err := n.checkConfigured(syscall.ENETDOWN); err != nil {
		return route.Applied{}, err
	}
	return n.lnet.ApplyRoutes(list)
}

// putBack adds routes again that a reload has removed. If a command has meanwhile added a route to the same net by the
// same gateway, that one stays. The other routes are added even if one cannot be.
func (n *Node) putBack(removed []route.Route) error {
	applied, err := n.applyRoutes(removed)
	for _, passed := range applied.Passed {
		if !errors.Is(passed, syscall.EEXIST) {
			err = errors.Join(err, passed)
		}
	}
	return err
}

// removeRoutes removes the routes to the same nets by the same gateways as those of a list, and
// returns the routes that it has removed.
func (n *Node) removeRoutes(list []route.Route) []route.Route {
	type way struct {
		net     nid.Net
		gateway nid.NID
	}
	named := make(map[way]bool, len(list))
	for _, one := range list {
		named[way{one.Net, one.Gateway}] = true
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	return n.lnet.DeleteRoutes(func(one route.Route) bool { return named[way{one.Net, one.Gateway}] })
}
