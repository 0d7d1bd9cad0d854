package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ulnet/cmd/internal/config/tree"
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

// removeRoutes removes routes that the new configuration does not have, or has with other values.
func (r *reload) removeRoutes() {
	will := routesOf(r.will.Route)
	for _, one := range routesOf(r.was.Route) {
		if slices.Contains(will, one) {
			continue
		}
		r.add(r.routeKey(), fmt.Sprintf("remove route %v", one), func(context.Context) (func(context.Context) error, error) {
			err := r.n.RemoveRoute(RemoveRouteRequest{Net: one.Net.String(), Gateway: one.Gateway.String()})
			if errors.Is(err, syscall.ENOENT) {
				return nil, nil
			}
			return func(context.Context) error { return r.n.addRoute(one) }, err
		})
	}
}

// addRoutes adds routes that the node does not use yet: new ones, and those by gateways on networks
// that it was not on. A route of both configurations that a command has removed is not added.
func (r *reload) addRoutes() {
	used := routesOf(r.n.usable(r.was.Route))
	for _, one := range routesOf(r.will.Route) {
		if slices.Contains(used, one) {
			continue
		}
		r.add(r.routeKey(), fmt.Sprintf("add route %v", one), func(context.Context) (func(context.Context) error, error) {
			err := r.n.addRoute(one)
			if errors.Is(err, syscall.EEXIST) || errors.Is(err, syscall.EHOSTUNREACH) { // as when the node starts
				r.n.logPassed([]error{err})
				return nil, nil
			}
			return func(context.Context) error {
				return r.n.RemoveRoute(RemoveRouteRequest{Net: one.Net.String(), Gateway: one.Gateway.String()})
			}, err
		})
	}
}

func (r *reload) routeKey() string {
	if r.to.From("route") != "" {
		return "route"
	}
	return "routes"
}

func (n *Node) addRoute(r route.Route) error {
	return n.AddRoutes(AddRoutesRequest{
		Nets: []string{r.Net.String()}, Gateways: []string{r.Gateway.String()}, Hops: r.Hops, Priority: r.Priority, Sensitivity: r.Sensitivity,
	})
}
