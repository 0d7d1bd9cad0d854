package zone

import (
	"ulnet/cmd/internal/control"
	"ulnet/gossip/zone"
)

// The operations of zones that the daemon offers to clients.
var (
	OpStatus     = control.Question[control.None, zone.Status]{Path: "/v1/zone", Doc: "the state of the zone in numbers"}
	OpMembers    = control.Question[MemberFilter, []Member]{Path: "/v1/zone/members", Doc: "members, and nodes that were some, as a filter wants them", Report: "?"}
	OpEvents     = control.Question[EventsFrom, Events]{Path: "/v1/zone/events", Doc: "the last events from a number on", Report: "?from=0"}
	OpSuspicions = control.Question[control.None, []zone.SuspicionStatus]{Path: "/v1/zone/suspicions", Doc: "reports that were not refuted"}
	OpCensus     = control.Question[control.None, []zone.CensusEntry]{Path: "/v1/zone/census", Doc: "what the management zone knows of base zones"}
	OpZone       = control.Question[BaseZone, []zone.Named]{Path: "/v1/zone/of", Doc: "the members of a base zone", Unasked: "is about one base zone"}
	OpTopology   = control.Question[control.None, Topology]{Path: "/v1/zone/topology", Doc: "the ring, and the links of the node"}
	OpAttributes = control.Question[NodeName, NodeAttributes]{Path: "/v1/zone/attributes", Doc: "the attributes of a node, by its name or id; without one of this node", Report: "?"}
	OpExplain    = control.Question[NodeName, zone.Explanation]{Path: "/v1/zone/explain", Doc: "all that is known of a node, by its name or id", Unasked: "is about one node"}
	OpWrite      = control.Action[WriteRequest]{Path: "/v1/zone/write", Doc: "writes or deletes an attribute of this node"}
	OpJoin       = control.Action[control.None]{Path: "/v1/zone/join", Doc: "joins the zone again"}
	OpLeave      = control.Action[LeaveRequest]{Path: "/v1/zone/leave", Doc: "says goodbye"}
	OpRemove     = control.Action[NodeName]{Path: "/v1/zone/remove", Doc: "removes a member from the views of the zone"}
)

// EventsFrom has the number of the first event to return.
type EventsFrom struct {
	From uint64 `query:"from,always"` // number of the first event wanted
}

// BaseZone names a base zone.
type BaseZone struct {
	Zone string `query:"zone"` // name of the base zone
}
