package metrics

import (
	"ulnet/gossip/zone"
	"ulnet/gossip/zone/wire"
)

// zoneTable has what 'gossipctl zone status' shows.
func zoneTable() []group {
	type status = *zone.Status
	each := func(s *state, yield func(status, ...string)) {
		if s.zone != nil {
			yield(s.zone, s.zone.Zone)
		}
	}
	labels := []string{"zone"}
	return []group{
		&objects[status]{labels: labels, each: each, rows: []row[status]{
			{"zone_joined", "ratio", "1: this node is a member of its zone; 0: it is not.", func(s status) float64 { return oneIf(s.State == "joined") }},
			{"zone_members", "nodes", "Members of the zone, this node included.", func(s status) float64 { return number(s.Members) }},
			{"zone_gone", "nodes", "Nodes that were members, as far as this node remembers.", func(s status) float64 { return number(s.Gone) }},
			{"zone_links", "links", "Links to neighbours that are up.", func(s status) float64 { return number(s.Links) }},
			{"zone_suspects", "nodes", "Members with suspicions that were not refuted.", func(s status) float64 { return number(s.Suspects) }},
			{"zone_muted", "ratio", "1: so many links failed that this node suspects itself and no other node; 0: it does not.", func(s status) float64 { return oneIf(s.Muted) }},
			{"zone_delegate", "ratio", "1: this node is a delegate of its zone; 0: it is not.", func(s status) float64 { return oneIf(s.Delegation.Delegate) }},
			{"zone_delegate_active", "ratio", "1: this node is the delegate that speaks for the zone; 0: it is not.", func(s status) float64 { return oneIf(s.Delegation.Activation != 0) }},
			{"zone_delegate_cut_off", "ratio", "1: the delegate reaches no supervisor; 0: it does, or is no delegate.", func(s status) float64 { return oneIf(s.Delegation.CutOff) }},
			{"zone_guarded_zones", "zones", "Base zones that this supervisor guards.", func(s status) float64 { return number(len(s.Guarded)) }},
			{"zone_paused_seconds_total", "seconds", "Length of all pauses of this process that the zone noticed.", func(s status) float64 { return s.Stats.Missed.Seconds() }},
		}},
		&objects[uint64]{labels: append(labels, "event"), each: func(s *state, yield func(uint64, ...string)) {
			each(s, func(z status, labels ...string) {
				with := func(n uint64, event ...string) { yield(n, labels[0], event[0]) }
				eachEvent(countersOf(z.Stats), with)
				with(z.NotSent, "not_sent")
				with(z.OtherPID, "other_pid")
				with(z.StrayBits, "stray_bits")
				with(z.NotPosted, "not_posted")
			})
		}, rows: events("zone_events_total", "What the zone did and refused, by the names of 'gossipctl zone status --json' in lower case.")},
		&objects[zoneKind]{labels: append(labels, "kind"), each: func(s *state, yield func(zoneKind, ...string)) {
			each(s, func(z status, labels ...string) {
				for k := wire.Kind(1); k < wire.Kinds; k++ {
					yield(zoneKind{z.Stats.Sent[k], z.Stats.Received[k]}, labels[0], k.String())
				}
			})
		}, rows: []row[zoneKind]{
			{"zone_sent_messages_total", "messages", "Messages of the zone that this node sent, by kind.", func(c zoneKind) float64 { return number(c.sent) }},
			{"zone_received_messages_total", "messages", "Messages of the zone that this node received, by kind.", func(c zoneKind) float64 { return number(c.received) }},
		}},
		&objects[uint64]{labels: append(labels, "kind"), each: func(s *state, yield func(uint64, ...string)) {
			each(s, func(z status, labels ...string) {
				for k := wire.DispatchKind(1); k < wire.DispatchKinds; k++ {
					yield(z.Stats.Dispatched[k], labels[0], k.String())
				}
			})
		}, rows: []row[uint64]{
			{"zone_dispatched_messages_total", "messages", "Messages to other zones that this node sent, by kind.", count},
		}},
	}
}

// zoneKind are the counters of messages of one kind.
type zoneKind struct{ sent, received uint64 }
