package metrics

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// dashboard is a page of Grafana in rows of panels.
type dashboard struct {
	file, title string
	rows        []dashboardRow
}

type dashboardRow struct {
	title  string
	panels []panel
}

// panel shows metrics over time: the rates of counters, the values of gauges, and the median and the 99th
// percentile of histograms.
type panel struct {
	title   string
	unit    string   // unit of the axis, as Grafana names it; for counters, that of a rate per second
	metrics []string // names without the namespace
}

var dashboards = []dashboard{
	{"../../../../contrib/grafana/lnetd.json", "LNet nodes (ulnet)", []dashboardRow{
		{"Node", []panel{
			{"Messages", "ops", []string{"sent_messages_total", "received_messages_total", "routed_messages_total"}},
			{"Payload", "Bps", []string{"sent_bytes_total", "received_bytes_total", "routed_bytes_total"}},
			{"In flight", "short", []string{"messages_in_flight"}},
			{"Drops by reason", "ops", []string{"drops_total"}},
			{"Failures by class", "ops", []string{"failures_total"}},
			{"Errors and resends", "ops", []string{"send_errors_total", "send_refused_total", "response_timeouts_total", "resends_total"}},
			{"Latency of PUTs", "s", []string{"put_ack_latency_seconds"}},
			{"Latency of GETs", "s", []string{"get_reply_latency_seconds"}},
		}},
		{"Interfaces", []panel{
			{"Up", "short", []string{"ni_up"}},
			{"Health", "percentunit", []string{"ni_health_ratio"}},
			{"Credits", "short", []string{"ni_credits", "ni_credits_min"}},
			{"Payload by NI", "Bps", []string{"ni_sent_bytes_total", "ni_received_bytes_total"}},
			{"Messages by NI and type", "ops", []string{"ni_sent_messages_total", "ni_received_messages_total"}},
			{"Connections", "short", []string{"ni_connections", "ni_handshakes"}},
			{"Driver events", "ops", []string{"ni_driver_events_total"}},
			{"Multicast", "ops", []string{"ni_multicast_sent_datagrams_total", "ni_multicast_received_datagrams_total", "ni_multicast_missed_datagrams_total"}},
		}},
		{"Peers", []panel{
			{"Peers", "short", []string{"peers", "peers_labelled", "recovering_interfaces"}},
			{"Health of peers", "percentunit", []string{"peer_health_ratio"}},
			{"Payload by peer", "Bps", []string{"peer_sent_bytes_total", "peer_received_bytes_total"}},
			{"Queues", "short", []string{"peer_queued_messages"}},
			{"Credits of peers", "short", []string{"peer_credits"}},
			{"Failures by peer", "ops", []string{"peer_failures_total"}},
		}},
		{"Routing and RDMA", []panel{
			{"Routes", "short", []string{"routes"}},
			{"Router buffers", "short", []string{"router_buffer_credits", "router_waiting_messages"}},
			{"Receive buffers", "short", []string{"rdma_receive_buffers_free"}},
			{"Software RoCE", "ops", []string{"softroce_events_total"}},
		}},
	}},
	{"../../../../contrib/grafana/lnetd-protocols.json", "LNet protocols (ulnet)", []dashboardRow{
		{"Gossip", []panel{
			{"Participants", "short", []string{"gossip_participants", "gossip_alive"}},
			{"Quorum", "short", []string{"gossip_running", "gossip_quorum"}},
			{"Gossip events", "ops", []string{"gossip_events_total"}},
		}},
		{"Zones", []panel{
			{"Members", "short", []string{"zone_members", "zone_suspects"}},
			{"Links", "short", []string{"zone_links"}},
			{"Messages of the zone", "ops", []string{"zone_sent_messages_total", "zone_received_messages_total"}},
			{"Zone events", "ops", []string{"zone_events_total"}},
		}},
		{"Collectives and multicast", []panel{
			{"Broadcasts", "short", []string{"scoll_broadcasts_running"}},
			{"Collective events", "ops", []string{"scoll_events_total", "scoll_admin_events_total"}},
			{"Latency of broadcasts", "s", []string{"scoll_broadcast_latency_seconds"}},
			{"Multicast in flight", "short", []string{"rmcast_in_flight_datagrams", "rmcast_in_flight_limit_datagrams"}},
			{"Multicast round trip", "s", []string{"rmcast_rtt_seconds"}},
			{"Multicast events", "ops", []string{"rmcast_events_total", "rmcast_manager_events_total"}},
		}},
		{"Client health", []panel{
			{"Clients", "short", []string{"health_clients", "health_clients_mastered", "health_clients_orphaned", "health_clients_evicting"}},
			{"Servers", "short", []string{"health_servers", "health_servers_alive", "health_server_quorum"}},
			{"Server events", "ops", []string{"health_server_events_total"}},
			{"Records", "short", []string{"health_store_records", "health_store_waiting"}},
			{"Client of this node", "s", []string{"health_client_heard_seconds"}},
			{"Latency of pings", "s", []string{"health_client_ping_latency_seconds"}},
		}},
	}},
}

// object is an object of JSON.
type object = map[string]any

const wide, high = 8, 8 // size of a panel, in units of Grafana's grid, which is 24 wide

// grafana returns the dashboard in the format of Grafana.
func (d *dashboard) grafana(t *testing.T) string {
	t.Helper()
	var panels []object
	y := 0
	for _, r := range d.rows {
		panels = append(panels, object{"type": "row", "title": r.title, "gridPos": object{"x": 0, "y": y, "w": 24, "h": 1}})
		y++
		for i, p := range r.panels {
			panels = append(panels, p.grafana(t, i%3*wide, y+i/3*high))
		}
		y += (len(r.panels) + 2) / 3 * high
	}
	for i, p := range panels {
		p["id"] = i + 1
	}
	variable := func(name, label, query string) object {
		return object{"name": name, "label": label, "type": "query", "query": query, "datasource": source, "refresh": 2, "multi": true, "includeAll": true}
	}
	text, err := json.MarshalIndent(object{
		"title": d.title, "uid": strings.TrimSuffix(d.file[strings.LastIndex(d.file, "/")+1:], ".json"), "tags": []string{"lnet"},
		"schemaVersion": 38, "editable": true, "refresh": "30s", "time": object{"from": "now-1h", "to": "now"},
		"templating": object{"list": []object{
			{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
			variable("instance", "Node", "label_values("+namespace+"peers, instance)"),
		}},
		"panels": panels,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// source is the data source that the user of the dashboard chooses.
var source = object{"type": "prometheus", "uid": "${datasource}"}

func (p *panel) grafana(t *testing.T, x, y int) object {
	t.Helper()
	all, help := named(), []string{}
	var targets []object
	for _, name := range p.metrics {
		m, ok := all[namespace+name]
		if !ok {
			t.Errorf("panel %s: there is no metric %s%s", p.title, namespace, name)
		}
		legend := "{{instance}} "
		if len(p.metrics) > 1 {
			legend += strings.TrimSuffix(name, "_total") + " "
		}
		for _, label := range m.labels {
			legend += "{{" + label + "}} "
		}
		for _, q := range m.queries(`{instance=~"$instance"}`) {
			targets = append(targets, object{"refId": string(rune('A' + len(targets))), "expr": q.expr, "legendFormat": strings.TrimSpace(legend + q.legend), "datasource": source})
		}
		help = append(help, fmt.Sprintf("%s: %s", m.name, m.help))
	}
	return object{
		"type": "timeseries", "title": p.title, "description": strings.Join(help, "\n\n"), "datasource": source,
		"gridPos": object{"x": x, "y": y, "w": wide, "h": high}, "targets": targets,
		"fieldConfig": object{"defaults": object{"unit": p.unit}, "overrides": []any{}},
	}
}

// query is an expression of PromQL, and the word that it adds to the name of its metric in the legend.
type query struct{ expr, legend string }

// queries returns what a panel shows of a metric, for the series that a selector selects.
func (m *metric) queries(selector string) []query {
	switch {
	case m.histogram:
		median, p99 := m.quantile("0.5", selector, "$__rate_interval"), m.quantile("0.99", selector, "$__rate_interval")
		return []query{{median, "median"}, {p99, "99 %"}}
	case m.counter:
		return []query{{"rate(" + m.name + selector + "[$__rate_interval])" + m.filter(), ""}}
	}
	return []query{{m.name + selector + m.filter(), ""}}
}

// quantile returns the expression for a quantile of a histogram: of the native histogram or, where Prometheus
// has not stored that, of the classic buckets.
func (m *metric) quantile(q, selector, interval string) string {
	const of = "histogram_quantile(%s, rate(%s%s[%s]))"
	return fmt.Sprintf(of, q, m.name, selector, interval) + " or " + fmt.Sprintf(of, q, m.name+"_bucket", selector, interval)
}

// filter returns the end of an expression. For metrics with another last label than nid, such as a reason, it
// is a comparison that leaves out series with the value 0, because most of their series are always 0. For
// others it is empty.
func (m *metric) filter() string {
	if n := len(m.labels); n > 0 && m.labels[n-1] != "nid" {
		return " != 0"
	}
	return ""
}

// TestDashboards: the dashboards name only metrics of the table, and the unit of each axis suits the
// metrics of the panel.
func TestDashboards(t *testing.T) {
	all := named()
	for _, d := range dashboards {
		for _, r := range d.rows {
			for _, p := range r.panels {
				for _, name := range p.metrics {
					if m := all[namespace+name]; !slices.Contains(axes(&m), p.unit) {
						t.Errorf("panel %s: %s is in %s, and the axis in %s", p.title, name, m.unit, p.unit)
					}
				}
			}
		}
		generated(t, d.file, d.grafana(t))
	}
}

// axes returns the units that the axis of a metric may have.
func axes(m *metric) []string {
	switch {
	case m.counter && m.unit == "bytes":
		return []string{"Bps"}
	case m.counter:
		return []string{"ops"}
	case m.unit == "seconds":
		return []string{"s"}
	case m.unit == "ratio":
		return []string{"percentunit", "short"}
	}
	return []string{"short"}
}
