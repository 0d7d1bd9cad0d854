package metrics

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// gatherer converts the metrics of the table to those of Prometheus, and adds those of the Go runtime and of
// the process. It is used in place of a prometheus.Registry, which would check and sort each value in every
// scrape: with a thousand peers, that would take longer than all other work. The tests make these checks
// instead. Only one scrape at a time may use a gatherer.
type gatherer struct {
	read    func(*peerSet) *state // reads the state of the daemon
	table   []group
	peers   *peerSet
	process prometheus.Gatherer
}

func newGatherer(read func(*peerSet) *state, maxPeers int) *gatherer {
	process := prometheus.NewRegistry()
	process.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return &gatherer{read: read, table: table(), peers: newPeerSet(maxPeers), process: process}
}

// Gather implements prometheus.Gatherer.
func (g *gatherer) Gather() ([]*dto.MetricFamily, error) {
	all, err := g.process.Gather()
	s := g.read(g.peers)
	for _, of := range g.table {
		for _, f := range of.collect(s) {
			if len(f.Metric) > 0 { // a metric of objects that the node does not have is left out
				all = append(all, f)
			}
		}
	}
	slices.SortFunc(all, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return all, err
}

// family returns a metric as Prometheus wants it, without values.
func (m *metric) family() *dto.MetricFamily {
	typ := dto.MetricType_GAUGE
	switch {
	case m.counter:
		typ = dto.MetricType_COUNTER
	case m.histogram:
		typ = dto.MetricType_HISTOGRAM
	}
	return &dto.MetricFamily{Name: &m.name, Help: &m.help, Type: &typ}
}

// pairsOf returns labels as Prometheus wants them: sorted by name. All metrics of an object
// share them.
func pairsOf(names, values []string) []*dto.LabelPair {
	pairs := make([]*dto.LabelPair, len(names))
	all := make([]dto.LabelPair, len(names))
	for i := range names {
		all[i].Name, all[i].Value = &names[i], &values[i]
		pairs[i] = &all[i]
	}
	slices.SortFunc(pairs, func(a, b *dto.LabelPair) int { return cmp.Compare(*a.Name, *b.Name) })
	return pairs
}

// series returns the values of the metric, one for each element of labels. It allocates the
// structures of Prometheus around all values at once: with a thousand peers, allocating them one by one would
// take as long as encoding them.
func (m *metric) series(labels [][]*dto.LabelPair, value func(i int) float64) []*dto.Metric {
	series := make([]*dto.Metric, len(labels))
	if m.counter {
		all := make([]struct {
			metric dto.Metric
			of     dto.Counter
			value  float64
		}, len(labels))
		for i := range all {
			c := &all[i]
			c.value, c.of.Value, c.metric.Label, c.metric.Counter = value(i), &c.value, labels[i], &c.of
			series[i] = &c.metric
		}
		return series
	}
	all := make([]struct {
		metric dto.Metric
		of     dto.Gauge
		value  float64
	}, len(labels))
	for i := range all {
		g := &all[i]
		g.value, g.of.Value, g.metric.Label, g.metric.Gauge = value(i), &g.value, labels[i], &g.of
		series[i] = &g.metric
	}
	return series
}
