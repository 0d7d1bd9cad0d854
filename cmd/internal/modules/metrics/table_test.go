package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

// units are the units of metrics. The name of a metric in one of the first two units has to contain
// the unit.
var units = []string{
	"seconds", "bytes", "ratio",
	"messages", "operations", "failures", "events", "interfaces", "packets", "requests", "peers", "connections", "groups", "datagrams", "buffers",
	"queue pairs", "regions", "routes", "nodes", "cycles", "links", "zones", "broadcasts", "clients", "tombstones", "records", "commits", "calls",
}

// TestTable: each metric has a name by the conventions of Prometheus, a help and a unit, and has a
// value in a scrape of a daemon in which everything runs.
func TestTable(t *testing.T) {
	families, err := gathererOf(crowdOf(2), 1).Gather()
	if err != nil {
		t.Fatal(err)
	}
	checkFamilies(t, families)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("promlint: %s: %s", p.Metric, p.Text)
	}
	there := map[string]bool{}
	for _, f := range families {
		there[f.GetName()] = true
	}
	seen := map[string]bool{}
	for _, g := range table() {
		for _, m := range g.metrics() {
			checkMetric(t, &m)
			if seen[m.name] {
				t.Errorf("%s is in the table twice", m.name)
			}
			if seen[m.name] = true; !there[m.name] {
				t.Errorf("no scrape has %s", m.name)
			}
		}
	}
	if len(seen) < 150 {
		t.Errorf("%d metrics in the table", len(seen))
	}
}

// checkFamilies checks what a registry of the client library would: families in order, each with
// the labels and the help of its table, and no value twice.
func checkFamilies(t *testing.T, families []*dto.MetricFamily) {
	t.Helper()
	last, values := "", map[string]bool{}
	for _, f := range families {
		if f.GetName() <= last {
			t.Errorf("%s comes after %s", f.GetName(), last)
		}
		last = f.GetName()
		for _, m := range f.Metric {
			if !slices.IsSortedFunc(m.Label, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) }) {
				t.Errorf("%s: labels %v", f.GetName(), m.Label)
			}
			id := fmt.Sprint(f.GetName(), m.Label)
			if values[id] {
				t.Errorf("%s has two values", id)
			}
			values[id] = true
			if (f.GetType() == dto.MetricType_COUNTER) != (m.Counter != nil) || (f.GetType() == dto.MetricType_GAUGE) != (m.Gauge != nil) ||
				(f.GetType() == dto.MetricType_HISTOGRAM) != (m.Histogram != nil) {
				t.Errorf("%s: %v is a %v", id, m, f.GetType())
			}
		}
	}
}

func checkMetric(t *testing.T, m *metric) {
	t.Helper()
	unit := slices.Index(units, m.unit)
	words := strings.Split(strings.TrimSuffix(m.name, "_total"), "_")
	switch {
	case unit < 0:
		t.Errorf("%s: the unit %q is not in the list", m.name, m.unit)
	case unit < 2 && !slices.Contains(words, m.unit):
		t.Errorf("%s: the name does not have the unit %s", m.name, m.unit)
	case !strings.HasSuffix(m.help, ".") || strings.ContainsAny(m.help, "|\n"):
		t.Errorf("%s: the help is no sentence: %q", m.name, m.help)
	}
}
