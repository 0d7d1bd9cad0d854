package metrics

import (
	"ulnet/cmd/internal/modules/rmcast"
	"ulnet/cmd/internal/modules/scoll"
)

// collectiveTable has what 'scollctl status' shows.
func collectiveTable() []group {
	type status = *scoll.Status
	each := func(s *state, yield func(status, ...string)) {
		if s.scoll != nil {
			yield(s.scoll)
		}
	}
	return []group{
		&objects[status]{each: each, rows: []row[status]{
			{"scoll_named_groups", "groups", "Groups with a name at this node.", func(s status) float64 { return number(len(s.Groups)) }},
			{"scoll_joined_groups", "groups", "Groups that this node is a member of.", func(s status) float64 { return number(len(s.Joined)) }},
			{"scoll_broadcasts_running", "broadcasts", "Broadcasts of this node that have not ended.", func(s status) float64 { return number(running(s.Broadcasts)) }},
		}},
		&objects[uint64]{labels: []string{"event"}, each: func(s *state, yield func(uint64, ...string)) {
			each(s, func(c status, _ ...string) { eachEvent(c.Stats, yield) })
		}, rows: events("scoll_events_total", "What collectives did and refused, by the names of 'scollctl status --json'.")},
		&objects[uint64]{labels: []string{"event"}, each: func(s *state, yield func(uint64, ...string)) {
			each(s, func(c status, _ ...string) { eachEvent(countersOf(c.Admin), yield) })
		}, rows: events("scoll_admin_events_total", "What the administration service answered and refused, by the names of 'scollctl status --json'.")},
	}
}

func running(list []scoll.BroadcastEntry) (n int) {
	for i := range list {
		if list[i].Running {
			n++
		}
	}
	return n
}

// multicastTable has what 'scollctl mcast status' shows of each group, except the members and
// streams.
func multicastTable() []group {
	type status = *rmcast.Status
	type grp = *rmcast.GroupStatus
	each := func(s *state, yield func(grp, ...string)) {
		if s.rmcast != nil {
			for i := range s.rmcast.Groups {
				yield(&s.rmcast.Groups[i], s.rmcast.Groups[i].Name)
			}
		}
	}
	return []group{
		&objects[status]{each: func(s *state, yield func(status, ...string)) {
			if s.rmcast != nil {
				yield(s.rmcast)
			}
		}, rows: []row[status]{
			{"rmcast_stray_messages_total", "messages", "Messages for multicast groups that this node is not in.", func(s status) float64 { return number(s.Strays) }},
			{"rmcast_unsent_messages_total", "messages", "Messages to members and managers of multicast groups that did not leave: LNet failed, or too many waited for the node to read them.", func(s status) float64 { return number(s.NotSent) }},
			{"rmcast_unsent_refusals_total", "messages", "Answers of managers of multicast groups to refused messages that did not leave.", func(s status) float64 { return number(s.RefusalsUnsent) }},
			{"rmcast_unsigned_messages_total", "messages", "Messages of multicast groups that were dropped because of a missing, wrong or unexpected code.", func(s status) float64 { return number(s.NotSigned) }},
		}},
		&objects[grp]{labels: []string{"group"}, each: each, rows: []row[grp]{
			{"rmcast_member", "ratio", "1: this node is a member of the group; 0: it is not.", func(g grp) float64 { return oneIf(g.State == "member") }},
			{"rmcast_members", "nodes", "Members of the group.", func(g grp) float64 { return number(len(g.Members)) }},
			{"rmcast_multicast", "ratio", "1: payload goes by multicast; 0: it goes down the tree.", func(g grp) float64 { return oneIf(g.Multicast) }},
			{"rmcast_in_flight_datagrams", "datagrams", "Datagrams of this node that not all members have.", func(g grp) float64 { return number(g.InFlight) }},
			{"rmcast_in_flight_limit_datagrams", "datagrams", "Datagrams that this node may have in flight now.", func(g grp) float64 { return number(g.Limit) }},
			{"rmcast_rtt_seconds", "seconds", "Estimated round-trip time to other members.", func(g grp) float64 { return float64(g.RTTUS) / 1e6 }},
			{"rmcast_waiting_messages", "messages", "Messages for which this node waits for an acknowledgement.", func(g grp) float64 { return number(len(g.Waits)) }},
			{"rmcast_listeners", "clients", "Clients that receive the messages of the group.", func(g grp) float64 { return number(g.Listeners) }},
			{"rmcast_manager_active", "ratio", "1: this node is the active manager of the group; 0: it is not.", func(g grp) float64 { return oneIf(g.Managing != nil && g.Managing.Active) }},
		}},
		&objects[uint64]{labels: []string{"group", "event"}, each: func(s *state, yield func(uint64, ...string)) {
			each(s, func(g grp, labels ...string) {
				eachEvent(g.Stats, func(n uint64, event ...string) { yield(n, labels[0], event[0]) })
			})
		}, rows: events("rmcast_events_total", "What this member of the group did and refused, by the names of 'scollctl mcast status --json'.")},
		&objects[uint64]{labels: []string{"group", "event"}, each: func(s *state, yield func(uint64, ...string)) {
			each(s, func(g grp, labels ...string) {
				if g.Managing != nil {
					eachEvent(g.Managing.Stats, func(n uint64, event ...string) { yield(n, labels[0], event[0]) })
				}
			})
		}, rows: events("rmcast_manager_events_total", "What this manager of the group did and refused, by the names of 'scollctl mcast status --json'.")},
	}
}
