package zone

import (
	"context"

	"ulnet/cmd/internal/control"
	"ulnet/gossip/zone"
)

// What the daemon can be asked of its zone.
var (
	OpZoneStatus     = control.Question[control.None, zone.Status]{Path: "/v1/zone", Doc: "the state of the zone in numbers"}
	OpZoneMembers    = control.Question[ZoneFilter, []ZoneMember]{Path: "/v1/zone/members", Doc: "members, and nodes that were some, as a filter wants them"}
	OpZoneEvents     = control.Question[ZoneEventsFrom, ZoneEvents]{Path: "/v1/zone/events", Doc: "the last events from a number on"}
	OpZoneSuspicions = control.Question[control.None, []zone.SuspicionStatus]{Path: "/v1/zone/suspicions", Doc: "reports that were not refuted"}
	OpZoneCensus     = control.Question[control.None, []zone.CensusEntry]{Path: "/v1/zone/census", Doc: "what the management zone knows of base zones"}
	OpZoneOf         = control.Question[ZoneName, []zone.Named]{Path: "/v1/zone/of", Doc: "who is in a base zone"}
	OpZoneTopology   = control.Question[control.None, ZoneTopology]{Path: "/v1/zone/topology", Doc: "the ring, and the links of the node"}
	OpZoneAttributes = control.Question[ZoneNode, ZoneAttributes]{Path: "/v1/zone/attributes", Doc: "the attributes of a node, by its name or id; without one of this node"}
	OpZoneExplain    = control.Question[ZoneNode, zone.Explanation]{Path: "/v1/zone/explain", Doc: "all that is known of a node, by its name or id"}
	OpZoneWrite      = control.Action[ZoneWrite]{Path: "/v1/zone/write", Doc: "writes or deletes an attribute of this node"}
	OpZoneJoin       = control.Action[control.None]{Path: "/v1/zone/join", Doc: "joins the zone again"}
	OpZoneLeave      = control.Action[ZoneGoodbye]{Path: "/v1/zone/leave", Doc: "says goodbye"}
	OpZoneRemove     = control.Action[ZoneNode]{Path: "/v1/zone/remove", Doc: "removes a member from the views of the zone"}
)

// ZoneEventsFrom says from which event on.
type ZoneEventsFrom struct {
	From uint64 `query:"from,always"`
}

// ZoneName names a base zone.
type ZoneName struct {
	Zone string `query:"zone"`
}

// Routes are the operations of the zone.
func (m *Module) Routes() []control.Route {
	return []control.Route{
		OpZoneStatus.Do(control.Ask(m.Status)), OpZoneMembers.Do(control.Quick(m.Members)),
		OpZoneEvents.Do(control.Quick(func(r ZoneEventsFrom) (ZoneEvents, error) { return m.Events(r.From) })),
		OpZoneSuspicions.Do(control.Ask(m.Suspicions)), OpZoneCensus.Do(control.Ask(m.Census)),
		OpZoneOf.Do(func(ctx context.Context, r ZoneName) ([]zone.Named, error) { return m.Of(ctx, r.Zone) }),
		OpZoneTopology.Do(control.Ask(m.Topology)),
		OpZoneAttributes.Do(control.Quick(func(r ZoneNode) (ZoneAttributes, error) { return m.Attributes(r.Node) })),
		OpZoneExplain.Do(control.Quick(func(r ZoneNode) (zone.Explanation, error) { return m.Explain(r.Node) })),
		OpZoneWrite.Do(control.Act(m.Write)), OpZoneJoin.Do(control.Just(m.Join)),
		OpZoneLeave.Do(control.Act(m.Leave)), OpZoneRemove.Do(control.Act(m.Remove)),
	}
}
