package metrics

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/needs"
)

// expand replaces {name} by the name of a metric with its namespace. It fails the test if the
// table has no such metric.
func expand(t *testing.T, text string) string {
	t.Helper()
	return regexp.MustCompile(`\{([a-z_]+)\}`).ReplaceAllStringFunc(text, func(in string) string {
		name := namespace + strings.Trim(in, "{}")
		if _, ok := named()[name]; !ok {
			t.Errorf("%s: there is no metric %s", text, name)
		}
		return name
	})
}

// named returns the metrics of the table by name.
func named() map[string]metric {
	m := map[string]metric{}
	for _, g := range table() {
		for _, row := range g.metrics() {
			m[row.name] = row
		}
	}
	return m
}

// quoted returns a text as a scalar of YAML.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// rulesText returns the file with the alerts.
func rulesText(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Alerts on the metrics of lnetd (docs/metrics.md), written by 'go test ./cmd/internal/modules/metrics -update'.\n")
	b.WriteString("groups:\n  - name: lnetd\n    rules:\n")
	for _, a := range alerts {
		fmt.Fprintf(&b, "      - alert: %s\n        expr: %s\n        for: %s\n        labels: {severity: %s}\n        annotations:\n          summary: %s\n",
			a.name, quoted(expand(t, a.expr)), a.wait, a.severity, quoted("{{ $labels.instance }}: "+a.summary))
	}
	return b.String()
}

// testsText returns a file for 'promtool test rules': each alert fires on one set of series, and
// does not fire on another set.
func testsText(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Tests of the alerts for 'promtool test rules', written as they are.\n")
	b.WriteString("rule_files: [lnetd.rules.yml]\nevaluation_interval: 1m\ntests:\n")
	for _, a := range alerts {
		writeTest(t, &b, a.name, a.fires, "[{labels: '{}', value: 1}]")
		writeTest(t, &b, a.name, a.not, "[]")
	}
	return b.String()
}

func writeTest(t *testing.T, b *strings.Builder, alert string, of series, want string) {
	t.Helper()
	fmt.Fprintf(b, "  - interval: 1m\n    input_series:\n")
	for _, name := range slices.Sorted(maps.Keys(of)) {
		fmt.Fprintf(b, "      - {series: %s, values: %s}\n", quoted(expand(t, name)), quoted(of[name]))
	}
	firing := fmt.Sprintf(`count(ALERTS{alertname="%s",alertstate="firing"})`, alert)
	fmt.Fprintf(b, "    promql_expr_test:\n      - {expr: %s, eval_time: 30m, exp_samples: %s}\n", quoted(firing), want)
}

// TestRules: the alerts name only metrics of the table, and promtool accepts them. Each alert fires
// on the series in its field fires, but not on the series in its field "not".
func TestRules(t *testing.T) {
	t.Parallel()
	generated(t, rules, rulesText(t))
	generated(t, recording, testsText(t))
	path := needs.Program(t, "promtool")
	runs := [][]string{{"check", "rules", filepath.Base(rules)}, {"test", "rules", filepath.Base(recording)}}
	if testing.Short() {
		runs = runs[:1]
	}
	for _, args := range runs {
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Dir = filepath.Dir(rules)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
