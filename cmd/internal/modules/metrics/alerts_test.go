package metrics

import "fmt"

// alert is a rule of Prometheus. Its expression and its series have {name} in place of a metric,
// without the namespace: the function expand replaces that by the full name.
type alert struct {
	name, expr string
	wait       string // how long the expression must hold before the alert fires
	severity   string
	summary    string // text of the alert of one node; may refer to the labels of the expression
	fires      series // values with which the alert fires after 30 minutes
	not        series // values with which the alert does not fire
}

// series are values of metrics in the notation of promtool, at intervals of a minute.
type series map[string]string

const (
	rules     = "../../../../contrib/prometheus/lnetd.rules.yml"
	recording = "../../../../contrib/prometheus/lnetd.rules.test.yml"
)

// medianAbove returns the expression that the median of a histogram, native or classic, is above a
// number of seconds. A median of fewer than 10 operations in 10 minutes does not count: one slow
// operation would decide it.
func medianAbove(histogram, seconds string) string {
	const of = "histogram_quantile(0.5, rate(%s[10m])) and %s >= 10"
	name := "{" + histogram + "}"
	native := fmt.Sprintf(of, name, "histogram_count(increase("+name+"[10m]))")
	classic := fmt.Sprintf(of, name+"_bucket", "increase("+name+"_count[10m])")
	return "(" + native + " or " + classic + ") > " + seconds
}

// alerts are the alert rules, each with series that make it fire and series that do not.
var alerts = []alert{
	{
		"LNetInterfaceDown", `{ni_up} == 0`, "2m", "critical", "NI {{ $labels.nid }} is down",
		series{`{ni_up}{nid="a"}`: "0x60"},
		series{`{ni_up}{nid="a"}`: "1x60"},
	},
	{
		"LNetInterfaceUnhealthy", `{ni_health_ratio} < 0.5`, "10m", "warning", "NI {{ $labels.nid }} has a health of {{ $value | humanizePercentage }}: see lnetctl net show -v 2",
		series{`{ni_health_ratio}{nid="a"}`: "0.4x60"},
		series{`{ni_health_ratio}{nid="a"}`: "0.4x8 1x60"},
	},
	{
		"LNetCreditsExhausted", `{ni_credits} < 0`, "10m", "warning", "messages wait for credits of NI {{ $labels.nid }}: a peer is slow, or credits is too small",
		series{`{ni_credits}{nid="a"}`: "-5x60"},
		series{`{ni_credits}{nid="a"}`: "0x60"},
	},
	{
		"LNetPeerQueue", `{peer_queued_messages} > 1000`, "10m", "warning", "more than 1000 messages wait for peer {{ $labels.nid }}",
		series{`{peer_queued_messages}{nid="p"}`: "2000x60"},
		series{`{peer_queued_messages}{nid="p"}`: "900x60"},
	},
	{
		"LNetPeersUnreachable", `sum without(nid) ({peer_up} == bool 0) > 0.5 * count without(nid) ({peer_up}) > 2`, "5m", "critical", "more than half of the peers are not connected",
		series{`{peer_up}{nid="p"}`: "0x60", `{peer_up}{nid="q"}`: "0x60", `{peer_up}{nid="r"}`: "0x60", `{peer_up}{nid="s"}`: "0x60", `{peer_up}{nid="t"}`: "1x60", `{peer_up}{nid="u"}`: "0x60"},
		series{`{peer_up}{nid="p"}`: "0x60", `{peer_up}{nid="q"}`: "1x60", `{peer_up}{nid="r"}`: "1x60"},
	},
	{
		"LNetDrops", `sum without(reason) (rate({drops_total}{reason!="no match"}[5m])) > 1`, "10m", "warning", "{{ $value | humanize }} messages per second are dropped on arrival: see lnetctl stats show",
		series{`{drops_total}{reason="no route"}`: "0+120x60"},
		series{`{drops_total}{reason="no route"}`: "0+30x60", `{drops_total}{reason="no match"}`: "0+600x60"},
	},
	{
		"LNetForeignSource", `increase({drops_total}{reason="foreign source"}[15m]) > 0`, "0m", "warning", "a peer sends messages in the name of another node",
		series{`{drops_total}{reason="foreign source"}`: "0x20 1x40"},
		series{`{drops_total}{reason="foreign source"}`: "5x60"},
	},
	{
		"LNetResponseTimeouts", `rate({response_timeouts_total}[5m]) > 0.1`, "10m", "warning", "{{ $value | humanize }} operations per second got no ACK or REPLY in time",
		series{`{response_timeouts_total}`: "0+60x60"},
		series{`{response_timeouts_total}`: "0+1x60"},
	},
	{
		"LNetSlowPuts", medianAbove("put_ack_latency_seconds", "1"), "10m", "warning", "half of the PUTs wait more than a second for their ACK: see lnetctl peer show -v 2 and lnetdump --analyze",
		series{`{put_ack_latency_seconds}_bucket{le="0.5"}`: "0+2x60", `{put_ack_latency_seconds}_bucket{le="2"}`: "0+10x60", `{put_ack_latency_seconds}_bucket{le="+Inf"}`: "0+10x60", `{put_ack_latency_seconds}_count`: "0+10x60"},
		series{`{put_ack_latency_seconds}_bucket{le="0.5"}`: "0+8x60", `{put_ack_latency_seconds}_bucket{le="2"}`: "0+10x60", `{put_ack_latency_seconds}_bucket{le="+Inf"}`: "0+10x60", `{put_ack_latency_seconds}_count`: "0+10x60"},
	},
	{
		"LNetSlowGets", medianAbove("get_reply_latency_seconds", "1"), "10m", "warning", "half of the GETs wait more than a second for their data: see lnetctl peer show -v 2 and lnetdump --analyze",
		series{`{get_reply_latency_seconds}_bucket{le="0.5"}`: "0+2x60", `{get_reply_latency_seconds}_bucket{le="2"}`: "0+10x60", `{get_reply_latency_seconds}_bucket{le="+Inf"}`: "0+10x60", `{get_reply_latency_seconds}_count`: "0+10x60"},
		series{`{get_reply_latency_seconds}_bucket{le="0.5"}`: "0x60", `{get_reply_latency_seconds}_bucket{le="2"}`: "0+0.5x60", `{get_reply_latency_seconds}_bucket{le="+Inf"}`: "0+0.5x60", `{get_reply_latency_seconds}_count`: "0+0.5x60"},
	},
	{
		"LNetSendsFail", `rate({send_errors_total}[5m]) > 1`, "10m", "warning", "{{ $value | humanize }} sends per second fail: see lnetctl peer show -v 2",
		series{`{send_errors_total}`: "0+120x60"},
		series{`{send_errors_total}`: "0+6x60"},
	},
	{
		"LNetRouteDown", `{route_up} == 0`, "5m", "warning", "the route to {{ $labels.net }} by {{ $labels.gateway }} is down",
		series{`{route_up}{net="tcp1",gateway="g"}`: "0x60"},
		series{`{route_up}{net="tcp1",gateway="g"}`: "1x60"},
	},
	{
		"LNetRouterStalls", `rate({router_stalls_total}[10m]) > 0.01`, "10m", "warning", "next hops of this router stall: see lnetctl routing show",
		series{`{router_stalls_total}`: "0+2x60"},
		series{`{router_stalls_total}`: "0x60"},
	},
	{
		"GossipNoQuorum", `{gossip_quorum} == 0`, "1m", "critical", "gossip has no quorum: this node may be in a minority",
		series{`{gossip_quorum}`: "0x60"},
		series{`{gossip_quorum}`: "1x60"},
	},
	{
		"GossipParticipantsDead", `{gossip_participants} - {gossip_alive} > 0`, "5m", "warning", "{{ $value }} participants of gossip are dead: see gossipctl status",
		series{`{gossip_participants}`: "5x60", `{gossip_alive}`: "4x60"},
		series{`{gossip_participants}`: "5x60", `{gossip_alive}`: "5x60"},
	},
	{
		"ZoneNotJoined", `{zone_joined} == 0`, "5m", "critical", "this node is not a member of zone {{ $labels.zone }}",
		series{`{zone_joined}{zone="z"}`: "0x60"},
		series{`{zone_joined}{zone="z"}`: "1x60"},
	},
	{
		"ZoneCutOff", `{zone_delegate_cut_off} == 1`, "5m", "warning", "the delegate of zone {{ $labels.zone }} reaches no supervisor",
		series{`{zone_delegate_cut_off}{zone="z"}`: "1x60"},
		series{`{zone_delegate_cut_off}{zone="z"}`: "0x60"},
	},
	{
		"HealthNoQuorum", `{health_server_quorum} == 0`, "1m", "critical", "the server of client health reaches no majority: it will evict its clients",
		series{`{health_server_quorum}`: "0x60"},
		series{`{health_server_quorum}`: "1x60"},
	},
	{
		"HealthClientsNearLimit", `{health_clients} > 0.9 * {health_clients_max}`, "10m", "warning", "more than 90 % of max_clients are connected",
		series{`{health_clients}`: "95x60", `{health_clients_max}`: "100x60"},
		series{`{health_clients}`: "90x60", `{health_clients_max}`: "100x60"},
	},
	{
		"HealthRecordsFail", `{health_store_ok} == 0`, "1m", "critical", "connections of clients cannot be saved: see lnetctl health",
		series{`{health_store_ok}`: "0x60"},
		series{`{health_store_ok}`: "1x60"},
	},
	{
		"HealthClientAlone", `{health_client_settled} == 0`, "2m", "warning", "this client has no master",
		series{`{health_client_settled}`: "0x60"},
		series{`{health_client_settled}`: "1x60"},
	},
	{
		"MulticastStuck", `{rmcast_in_flight_datagrams} > 0 and delta({rmcast_in_flight_datagrams}[5m]) == 0 and {rmcast_waiting_messages} > 0`, "10m", "warning", "messages to group {{ $labels.group }} wait for acknowledgements: see scollctl mcast status",
		series{`{rmcast_in_flight_datagrams}{group="g"}`: "7x60", `{rmcast_waiting_messages}{group="g"}`: "1x60"},
		series{`{rmcast_in_flight_datagrams}{group="g"}`: "0x60", `{rmcast_waiting_messages}{group="g"}`: "0x60"},
	},
}
