package metrics

import (
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// namespace is the prefix of the names of all of ulnet's own metrics.
const namespace = "ulnet_"

// row is a metric in the table: what it is called, and how its value is read from an object of type T.
type row[T any] struct {
	name  string // without the namespace; if it ends in _total, the metric is a counter, otherwise a gauge
	unit  string // what is counted, or the base unit: seconds, bytes or ratio
	help  string // explanation of the metric, in one sentence
	value func(T) float64
}

// objects are the metrics of all objects of one kind, such as NIs.
type objects[T any] struct {
	labels []string // names of the labels
	// each calls yield with each object and the values of its labels.
	each func(s *state, yield func(of T, labels ...string))
	rows []row[T]

	described []metric // the rows without their type T; set by the first call of the method metrics
}

// metric is a row of the table without the type of its objects.
type metric struct {
	name, unit, help string
	labels           []string // names of the labels
	counter          bool     // the value only grows; false: the metric is a gauge, or a histogram
	histogram        bool
}

// group is an objects[T] of any type T, or the histograms.
type group interface {
	// metrics returns the rows, in their order.
	metrics() []metric
	// collect returns the metrics with the values of all objects.
	collect(s *state) []*dto.MetricFamily
}

// metrics implements group.
func (o *objects[T]) metrics() []metric {
	if o.described == nil {
		for _, r := range o.rows {
			name := r.name
			if !strings.HasPrefix(name, exporters) {
				name = namespace + name
			}
			o.described = append(o.described, metric{name: name, unit: r.unit, help: r.help, labels: o.labels, counter: strings.HasSuffix(name, "_total")})
		}
	}
	return o.described
}

// collect implements group.
func (o *objects[T]) collect(s *state) (families []*dto.MetricFamily) {
	var all []T
	var labels [][]*dto.LabelPair // labels[i] are the labels of all[i]
	o.each(s, func(of T, values ...string) {
		all = append(all, of)
		labels = append(labels, pairsOf(o.labels, values))
	})
	metrics := o.metrics()
	for i := range metrics {
		f, value := metrics[i].family(), o.rows[i].value
		f.Metric = metrics[i].series(labels, func(i int) float64 { return value(all[i]) })
		families = append(families, f)
	}
	return families
}

// table returns all metrics, except those of the Go runtime and of the process.
func table() (all []group) {
	for _, part := range [][]group{
		nodeTable(), latencyTable(), niTable(), rdmaTable(), peerTable(), routeTable(), gossipTable(), zoneTable(),
		collectiveTable(), multicastTable(), healthTable(), selftestTable(), exporterTable(),
	} {
		all = append(all, part...)
	}
	return all
}

// number converts a number to the value of a row.
func number[N ~int | ~int64 | ~uint64](n N) float64 { return float64(n) }

// oneIf returns 1 for true and 0 for false.
func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// count converts a counter to the value of a row. It is for counters that have the same name and
// different labels.
func count(n uint64) float64 { return float64(n) }

// events returns the row for counters of events that have the same name and different labels.
func events(name, help string) []row[uint64] { return []row[uint64]{{name, "events", help, count}} }
