package metrics

import (
	dto "github.com/prometheus/client_model/go"

	"ulnet/lnet/latency"
)

// latencyTable has how long operations took.
func latencyTable() []group {
	return []group{
		histograms{
			{"put_ack_latency_seconds", "Time from a PUT to its ACK, of one in 64 PUTs that got an ACK.", func(s *state) *latency.Snapshot { return &s.status.Latency.PutAck }},
			{"get_reply_latency_seconds", "Time from a GET to the data of its REPLY, of one in 64 GETs that got a REPLY.", func(s *state) *latency.Snapshot { return &s.status.Latency.GetReply }},
			{"scoll_broadcast_latency_seconds", "Time from a broadcast or a call of collectives to its results, at the root, of all that were sent.", func(s *state) *latency.Snapshot {
				if s.scoll == nil {
					return nil
				}
				return &s.scoll.Latency
			}},
			{"health_client_ping_latency_seconds", "Time from a ping of this client of client health to the answer of its master, of all pings that were answered.", func(s *state) *latency.Snapshot {
				if s.health == nil || s.health.Client == nil {
					return nil
				}
				return &s.health.Client.PingLatency
			}},
		},
	}
}

// histograms are metrics in seconds without labels.
type histograms []histogram

type histogram struct {
	name string                         // name of the metric without the namespace
	help string                         // explanation of the metric, in one sentence
	read func(*state) *latency.Snapshot // returns nil if the module that measures the time does not run
}

// metrics implements group.
func (h histograms) metrics() (all []metric) {
	for i := range h {
		all = append(all, metric{name: namespace + h[i].name, unit: "seconds", help: h[i].help, histogram: true})
	}
	return all
}

// collect implements group.
func (h histograms) collect(s *state) (families []*dto.MetricFamily) {
	for i, m := range h.metrics() {
		f := m.family()
		if from := h[i].read(s); from != nil {
			f.Metric = []*dto.Metric{{Histogram: distribution(from)}}
		}
		families = append(families, f)
	}
	return families
}
