package metrics

import (
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
)

// exporters is the first word of the names of the metrics in which lustre_exporter and
// lustrefs-exporter show the counters of LNet in kernels.
const exporters = "lustre_"

// exporterTable has those metrics of these exporters that have the same meaning here, so that
// dashboards made for the exporters show nodes of ulnet as well as nodes of kernels.
// lustre_exporter gives all of them the labels component and target, and lustrefs-exporter gives
// the numbers of messages the label nid of an NI. Here they have both.
func exporterTable() []group {
	type stats = *lnet.Stats
	type ni = *node.NIStatus
	const lnetLabel = "lnet"
	labels := []string{"component", "target"}
	return []group{
		&objects[stats]{labels: labels, each: func(s *state, yield func(stats, ...string)) { yield(&s.stats, lnetLabel, lnetLabel) }, rows: []row[stats]{
			{"lustre_allocated", "messages", "As ulnet_messages_in_flight.", func(s stats) float64 { return number(s.MsgsAlloc) }},
			{"lustre_maximum", "messages", "As ulnet_messages_in_flight_max.", func(s stats) float64 { return number(s.MsgsMax) }},
			{"lustre_errors_total", "messages", "As ulnet_send_errors_total.", func(s stats) float64 { return number(s.Errors) }},
			{"lustre_route_count_total", "messages", "As ulnet_routed_messages_total.", func(s stats) float64 { return number(s.RouteCount) }},
			{"lustre_send_bytes_total", "bytes", "As ulnet_sent_bytes_total.", func(s stats) float64 { return number(s.SendLength) }},
			{"lustre_receive_bytes_total", "bytes", "As ulnet_received_bytes_total.", func(s stats) float64 { return number(s.RecvLength) }},
			{"lustre_route_bytes_total", "bytes", "As ulnet_routed_bytes_total.", func(s stats) float64 { return number(s.RouteLength) }},
			{"lustre_drop_bytes_total", "bytes", "As ulnet_dropped_bytes_total.", func(s stats) float64 { return number(s.DropLength) }},
		}},
		&objects[ni]{labels: append(labels, "nid"), each: func(s *state, yield func(ni, ...string)) {
			eachNI(s, func(n ni, id string) { yield(n, lnetLabel, lnetLabel, id) })
		}, rows: []row[ni]{
			{"lustre_send_count_total", "messages", "As the sum over the types of ulnet_ni_sent_messages_total.", func(n ni) float64 { return number(n.Traffic.Sent.Total()) }},
			{"lustre_receive_count_total", "messages", "As the sum over the types of ulnet_ni_received_messages_total.", func(n ni) float64 { return number(n.Traffic.Received.Total()) }},
			{"lustre_drop_count_total", "messages", "As the sum over the types of ulnet_ni_dropped_messages_total.", func(n ni) float64 { return number(n.Traffic.Dropped.Total()) }},
		}},
	}
}
