package metrics

import (
	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/wire"
)

// niTable has what 'lnetctl net show -v 4' shows of each NI of this node, except its tunables.
func niTable() []group {
	type ni = *node.NIStatus
	nid := []string{"nid"}
	return []group{
		&objects[ni]{labels: []string{"nid", "net", "interface"}, each: func(s *state, yield func(ni, ...string)) {
			eachNI(s, func(n ni, id string) { yield(n, id, n.Net, n.Interface) })
		}, rows: []row[ni]{
			{"ni_info", "ratio", "The NIs of this node with their net and network interface; always 1.", func(ni) float64 { return 1 }},
		}},
		&objects[ni]{labels: nid, each: func(s *state, yield func(ni, ...string)) {
			eachNI(s, func(n ni, id string) { yield(n, id) })
		}, rows: []row[ni]{
			{"ni_up", "ratio", "1: the NI is up, as peers are told; 0: it is down.", func(n ni) float64 { return oneIf(n.Status == wire.StatusUp.String()) }},
			{"ni_health_ratio", "ratio", "Health of the NI, from 0 to 1; LNet's tools show it from 0 to 1000.", func(n ni) float64 { return number(n.Health) / maxHealth }},
			{"ni_credits", "messages", "Free credits of the NI; a negative number: so many messages wait for one.", func(n ni) float64 { return number(n.Credits) }},
			{"ni_credits_min", "messages", "Lowest number of free credits so far.", func(n ni) float64 { return number(n.MinCredits) }},
			{"ni_credits_max", "messages", "Messages that may be in flight from the NI (the tunable credits).", func(n ni) float64 { return number(n.Tunables.Credits) }},
			{"ni_peers", "peers", "Peers that the NI reaches.", func(n ni) float64 { return number(n.PeerCount) }},
			{"ni_connections", "connections", "Established connections of the NI.", func(n ni) float64 { return number(n.LND.Connections) }},
			{"ni_handshakes", "connections", "Connections of the NI that are not established yet.", func(n ni) float64 { return number(n.LND.Handshakes) }},
			{"ni_multicast_groups", "groups", "Multicast groups that the NI has joined.", func(n ni) float64 { return number(len(n.Groups)) }},
			{"ni_sent_bytes_total", "bytes", "Payload bytes of the messages that left by the NI.", func(n ni) float64 { return number(n.Traffic.SendLength) }},
			{"ni_received_bytes_total", "bytes", "Payload bytes of the messages that the NI accepted.", func(n ni) float64 { return number(n.Traffic.RecvLength) }},
			{"ni_dropped_bytes_total", "bytes", "Payload bytes of the messages that arrived by the NI and were dropped.", func(n ni) float64 { return number(n.Traffic.DropLength) }},
			{"ni_routed_in_messages_total", "messages", "Messages that the NI accepted and that were forwarded.", func(n ni) float64 { return number(n.Traffic.RoutedIn.Count) }},
			{"ni_routed_in_bytes_total", "bytes", "Payload bytes of the messages that the NI accepted and that were forwarded.", func(n ni) float64 { return number(n.Traffic.RoutedIn.Length) }},
			{"ni_routed_out_messages_total", "messages", "Forwarded messages that left by the NI.", func(n ni) float64 { return number(n.Traffic.RoutedOut.Count) }},
			{"ni_routed_out_bytes_total", "bytes", "Payload bytes of the forwarded messages that left by the NI.", func(n ni) float64 { return number(n.Traffic.RoutedOut.Length) }},
		}},
		&objects[byType]{labels: []string{"nid", "type"}, each: func(s *state, yield func(byType, ...string)) {
			eachNI(s, func(n ni, id string) {
				eachType(&n.Traffic, func(c byType, typ string) { yield(c, id, typ) })
			})
		}, rows: []row[byType]{
			{"ni_sent_messages_total", "messages", "Messages that left by the NI, by type.", func(c byType) float64 { return number(c.sent) }},
			{"ni_received_messages_total", "messages", "Messages that the NI accepted, by type.", func(c byType) float64 { return number(c.received) }},
			{"ni_dropped_messages_total", "messages", "Messages that arrived by the NI and were dropped, by type.", func(c byType) float64 { return number(c.dropped) }},
		}},
		&objects[uint64]{labels: []string{"nid", "class"}, each: func(s *state, yield func(uint64, ...string)) {
			eachNI(s, func(n ni, id string) {
				eachFailure(&n.Failures, func(class string, c uint64) { yield(c, id, class) })
			})
		}, rows: []row[uint64]{
			{"ni_failures_total", "failures", "Failures of messages that the NI sent or received, by class.", count},
		}},
		&objects[uint64]{labels: []string{"nid", "reason"}, each: func(s *state, yield func(uint64, ...string)) {
			eachNI(s, func(n ni, id string) {
				eachEvent(n.LND.Reasons, func(c uint64, reason ...string) { yield(c, id, reason[0]) })
			})
		}, rows: events("ni_driver_events_total", "Refused connections, ended connections and dropped messages of the NI's driver, by reason; a reason appears when it occurs.")},
		multicastOfNIs(nid),
	}
}

// multicastOfNIs has the metrics of multicast datagrams, for the NIs that can send and receive them.
func multicastOfNIs(labels []string) group {
	type multicast = *drivers.Multicast
	return &objects[multicast]{labels: labels, each: func(s *state, yield func(multicast, ...string)) {
		eachNI(s, func(n *node.NIStatus, id string) {
			if n.LND.Multicast != nil {
				yield(n.LND.Multicast, id)
			}
		})
	}, rows: []row[multicast]{
		{"ni_multicast_sent_datagrams_total", "datagrams", "Datagrams that the NI sent to groups.", func(m multicast) float64 { return number(m.Sent) }},
		{"ni_multicast_sent_bytes_total", "bytes", "Payload bytes of the datagrams that the NI sent to groups.", func(m multicast) float64 { return number(m.SentBytes) }},
		{"ni_multicast_received_datagrams_total", "datagrams", "Datagrams to groups that the NI accepted.", func(m multicast) float64 { return number(m.Received) }},
		{"ni_multicast_received_bytes_total", "bytes", "Payload bytes of the datagrams to groups that the NI accepted.", func(m multicast) float64 { return number(m.ReceivedBytes) }},
		{"ni_multicast_missed_datagrams_total", "datagrams", "Datagrams to groups that were lost because the receive buffer of the NI was full.", func(m multicast) float64 { return number(m.Missed) }},
	}}
}

// maxHealth is the health, in the unit of LNet, of an NI that has not failed.
const maxHealth = 1000

// eachNI calls yield for each NI.
func eachNI(s *state, yield func(n *node.NIStatus, id string)) {
	for i := range s.status.NIs {
		n := &s.status.NIs[i]
		yield(n, n.NID.String())
	}
}
