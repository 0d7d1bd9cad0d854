package tree

import "ulnet/lnet/nid"

// Route is a route to a network by a gateway.
type Route struct {
	Net         string  `json:"net"`                          // such as tcp1
	Gateway     nid.NID `json:"gateway"`                      // NID of the next hop
	Hop         *int    `json:"hop,omitempty"`                // -1: undefined
	Priority    *int    `json:"priority,omitempty"`           // 0 is best
	Sensitivity int     `json:"health_sensitivity,omitempty"` // shown where it is not 1
	State       string  `json:"state,omitempty"`              // up or down
	Type        string  `json:"type,omitempty"`               // single-hop or multi-hop
	Cause       string  `json:"cause,omitempty"`              // ours: of state down
}

// backup returns the route without its state.
func (r Route) backup() Route {
	return Route{Net: r.Net, Gateway: r.Gateway, Hop: r.Hop, Priority: r.Priority, Sensitivity: r.Sensitivity}
}

// UDSP is a selection rule. A pattern is a net or NIDs.
type UDSP struct {
	Index  int         `json:"idx"`              // place in the list, from 0
	Src    string      `json:"src,omitempty"`    // local NIs
	Dst    string      `json:"dst,omitempty"`    // NIs of peers
	Rte    string      `json:"rte,omitempty"`    // NIs of routers
	Action *UDSPAction `json:"action,omitempty"` // nil of a rule with two patterns
}

// UDSPAction is what a rule with one pattern does.
type UDSPAction struct {
	Priority uint32 `json:"priority"` // 0 is best
}
