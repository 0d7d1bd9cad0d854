package tree

import "ulnet/lnet/nid"

// Route is a route to a network by a gateway.
type Route struct {
	Net         string  `json:"net"`                          // network that the route leads to, such as tcp1
	Gateway     nid.NID `json:"gateway"`                      // NID of the next hop
	Hop         *int    `json:"hop,omitempty"`                // number of hops; -1: undefined
	Priority    *int    `json:"priority,omitempty"`           // priority of the route; 0 is best
	Sensitivity int     `json:"health_sensitivity,omitempty"` // health sensitivity; shown unless it is 1
	State       string  `json:"state,omitempty"`              // up or down
	Type        string  `json:"type,omitempty"`               // single-hop or multi-hop
	Cause       string  `json:"cause,omitempty"`              // ulnet's addition: reason of state down
}

// backup returns the route without its state.
func (r Route) backup() Route {
	return Route{Net: r.Net, Gateway: r.Gateway, Hop: r.Hop, Priority: r.Priority, Sensitivity: r.Sensitivity}
}

// UDSP is a selection rule. A pattern is a net or NIDs.
type UDSP struct {
	Index  int         `json:"idx"`              // place of the rule in the list, from 0
	Src    string      `json:"src,omitempty"`    // pattern of local NIs
	Dst    string      `json:"dst,omitempty"`    // pattern of NIs of peers
	Rte    string      `json:"rte,omitempty"`    // pattern of NIs of routers
	Action *UDSPAction `json:"action,omitempty"` // action of the rule; nil if the rule has two patterns
}

// UDSPAction is what a rule with one pattern does.
type UDSPAction struct {
	Priority uint32 `json:"priority"` // priority of the matching NIs; 0 is best
}
