package route

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"

	"ulnet/lnet/nid"
)

// MaxRoutes bounds the routes of a table; local policy.
const MaxRoutes = 1 << 14

// Table is the routes of a node, by net. The zero value is empty. It is not safe for
// concurrent use.
type Table struct {
	nets []routes // routes by net, ordered by the net's number
	size int
}

// routes are the routes to one net (struct lnet_remotenet). The list is replaced, never
// changed.
type routes struct {
	net  nid.Net
	list []Route
}

// Add adds a route of a node with these NIDs, at a random position among those to the same
// net, so that the nodes of a cluster do not all prefer the same gateway (lnet_add_route):
//
//	EINVAL        the gateway or the net is invalid, or of loopback; the gateway is on
//	              the net itself, or is this node; hops, priority or sensitivity out of range
//	EEXIST        this node is on the net, or has this route
//	EHOSTUNREACH  this node is not on the net of the gateway
//	ENOSPC        the table has MaxRoutes
//
// A kernel accepts one of its own NIDs as a gateway, although no message can leave by it.
func (t *Table) Add(r Route, own []nid.NID, random *rand.Rand) error {
	return t.AddAll([]Route{r}, own, random)
}

// AddAll adds routes as Add does, all or none. The error is that of the first route that cannot be
// added.
func (t *Table) AddAll(list []Route, own []nid.NID, random *rand.Rand) error {
	b := t.Batch(own, random)
	for _, r := range list {
		if err := b.Add(r); err != nil {
			return err
		}
	}
	b.Commit()
	return nil
}

// check tells what is wrong with a route of a node with these NIDs.
func (r Route) check(own []nid.NID) error {
	gateway := r.Gateway
	switch {
	case !isRemote(r.Net):
		return fmt.Errorf("want another net, such as tcp1: %w", syscall.EINVAL)
	case !isGateway(gateway):
		return fmt.Errorf("want the NID of a gateway, such as 10.0.0.1@tcp: %w", syscall.EINVAL)
	case gateway.Net() == r.Net:
		return fmt.Errorf("the gateway is on the net itself; name its NID on a net of this node: %w", syscall.EINVAL)
	case r.Hops != UndefinedHops && (r.Hops < 1 || r.Hops > MaxHops):
		return fmt.Errorf("want 1 to %d hops, or none: %w", MaxHops, syscall.EINVAL)
	case r.Priority < 0 || r.Priority > maxPriority:
		return fmt.Errorf("want a priority from 0, the best, to %d: %w", maxPriority, syscall.EINVAL)
	case r.Sensitivity < 1 || r.Sensitivity > maxSensitivity:
		return fmt.Errorf("want a health sensitivity from 1 to %d: %w", maxSensitivity, syscall.EINVAL)
	case slices.Contains(own, gateway):
		return fmt.Errorf("the gateway is this node; name the next one: %w", syscall.EINVAL)
	case slices.ContainsFunc(own, func(id nid.NID) bool { return id.Net() == r.Net }):
		return fmt.Errorf("this node is on %v: %w", r.Net, syscall.EEXIST)
	case !slices.ContainsFunc(own, func(id nid.NID) bool { return id.Net() == gateway.Net() && id.Is4() == gateway.Is4() }):
		return fmt.Errorf("no NI on the gateway's net: %w", syscall.EHOSTUNREACH)
	}
	return nil
}

// Delete removes a route. ENOENT: there is no such route.
func (t *Table) Delete(net nid.Net, gateway nid.NID) error {
	at, _ := t.find(net)
	list := t.Of(net)
	i := slices.IndexFunc(list, func(r Route) bool { return r.Gateway == gateway })
	if i < 0 {
		return fmt.Errorf("route to %v by %v: %w", net, gateway, syscall.ENOENT)
	}
	t.size--
	if len(list) == 1 {
		t.nets = slices.Delete(t.nets, at, at+1)
		return nil
	}
	t.nets[at].list = slices.Concat(list[:i], list[i+1:])
	return nil
}

// DeleteFunc removes the routes for which del returns true, and returns them.
func (t *Table) DeleteFunc(del func(Route) bool) (deleted []Route) {
	kept := make([]routes, 0, len(t.nets))
	for _, of := range t.nets {
		left := make([]Route, 0, len(of.list))
		for _, r := range of.list {
			if del(r) {
				deleted = append(deleted, r)
			} else {
				left = append(left, r)
			}
		}
		if len(left) > 0 {
			kept = append(kept, routes{of.net, left})
		}
	}
	t.nets, t.size = kept, t.size-len(deleted)
	return deleted
}

// Of returns the routes to a net, in their order. The caller does not change the list.
func (t *Table) Of(net nid.Net) []Route {
	if at, found := t.find(net); found {
		return t.nets[at].list
	}
	return nil
}

// All returns all routes, by net and in their order.
func (t *Table) All() []Route {
	all := make([]Route, 0, t.size)
	for _, of := range t.nets {
		all = append(all, of.list...)
	}
	return all
}

// Nets returns the nets that there are routes to.
func (t *Table) Nets() []nid.Net {
	nets := make([]nid.Net, 0, len(t.nets))
	for _, of := range t.nets {
		nets = append(nets, of.net)
	}
	return nets
}

// Len returns the number of routes.
func (t *Table) Len() int { return t.size }

func (t *Table) find(net nid.Net) (at int, found bool) {
	return slices.BinarySearchFunc(t.nets, net, func(of routes, net nid.Net) int { return of.net.Compare(net) })
}

// isRemote reports whether there can be a route to a net.
func isRemote(net nid.Net) bool { return net.IsValid() && !net.IsAny() && net.Type() != nid.Lo }

// isGateway reports whether a NID can be a gateway's.
func isGateway(id nid.NID) bool { return id.IsValid() && !id.IsAny() && isRemote(id.Net()) }
