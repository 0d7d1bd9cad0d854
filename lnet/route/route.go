package route

import (
	"fmt"
	"strings"

	"ulnet/lnet/nid"
)

// Limits of a route's hops and priority.
const (
	UndefinedHops = -1 // LNET_UNDEFINED_HOPS: counts as one hop
	MaxHops       = 255
	maxPriority   = 1<<31 - 1
)

// maxSensitivity is the largest health sensitivity: one failure then takes the whole health.
const maxSensitivity = 1000

// Route is a way to a net (struct lnet_route).
type Route struct {
	Net         nid.Net // net to which the gateway leads
	Gateway     nid.NID // NID of the gateway, on a net of this node
	Hops        int     // routers between here and the net, 1 to MaxHops, or UndefinedHops
	Priority    int     // priority of the route; 0 is best
	Sensitivity int     // by how much a failure lowers the health of the gateway, from 1
}

// New returns a route by a gateway. All other fields have the values that the tunable routes
// gives an entry which does not name them.
func New(net nid.Net, gateway nid.NID) Route {
	return Route{Net: net, Gateway: gateway, Hops: UndefinedHops, Sensitivity: 1}
}

// Distance is the number of hops by which routes are compared.
func (r Route) Distance() int { return max(r.Hops, 1) }

// String returns the route as an entry of the tunable routes.
func (r Route) String() string {
	var b strings.Builder
	b.WriteString(r.Net.String())
	if r.Hops != UndefinedHops {
		fmt.Fprintf(&b, " %d", r.Hops)
	}
	fmt.Fprintf(&b, " %v", r.Gateway)
	if r.Priority != 0 {
		fmt.Fprintf(&b, ":%d", r.Priority)
	}
	return b.String()
}
