package cli_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
)

// TestRates: numbers are shown with their change per second since the previous round, and texts
// that have changed are marked. List items are recognized by their names, whatever their
// positions.
func TestRates(t *testing.T) {
	const net = `{"net": [{"net type": "tcp", "local NI(s)": [` +
		`{"nid": "10.0.0.1@tcp", "status": %q, "statistics": {"send_count": %d, "drop_count": 0}, "CPT": [0, 1]}]}]}`
	var r cli.Rates
	at := time.Unix(1000, 0)
	show := func(after time.Duration, text string) string {
		t.Helper()
		at = at.Add(after)
		list, more, err := r.Round([]byte(text), at)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := cli.RateTable(list, more).Print(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const ni = "net tcp local NI(s) 10.0.0.1@tcp "
	head := "WHAT" + strings.Repeat(" ", len(ni+"statistics send_count")-2) + "VALUE  PER SECOND\n"
	row := func(what, value, rate string) string {
		return fmt.Sprintf("%-*s  %-5s  %s\n", len(ni+"statistics send_count"), ni+what, value, rate)
	}
	first := show(0, fmt.Sprintf(net, "up", 10))
	second := show(2*time.Second, fmt.Sprintf(net, "down", 15))
	strip := func(s string) string {
		var lines []string
		for line := range strings.Lines(s) {
			lines = append(lines, strings.TrimRight(line, " \n"))
		}
		return strings.Join(lines, "\n")
	}
	if diff := cmp.Diff(strip(head+row("status", "up", "")+row("statistics send_count", "10", "")+row("statistics drop_count", "0", "")+row("CPT 0", "0", "")+row("CPT 1", "1", "")), strip(first)); diff != "" {
		t.Errorf("first round (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(strip(head+row("status", "down", "changed")+row("statistics send_count", "15", "2.5")+row("statistics drop_count", "0", "")+row("CPT 0", "0", "")+row("CPT 1", "1", "")), strip(second)); diff != "" {
		t.Errorf("second round (-want +got):\n%s", diff)
	}
	if _, _, err := r.Round([]byte("{"), at); err == nil {
		t.Error("half a document is one")
	}
	if got := show(time.Second, `{"net": []}`); strings.Count(got, "\n") != 1 {
		t.Errorf("nothing is %q", got)
	}
}

// TestRatesBound: the size of a round is bounded, and values beyond the bound are only counted.
func TestRatesBound(t *testing.T) {
	text := `{"peers": [` + strings.TrimSuffix(strings.Repeat("1,", 20_100), ",") + `]}`
	list, more, err := new(cli.Rates).Round([]byte(text), time.Unix(0, 0))
	if err != nil || len(list) != 20_000 || more != 100 {
		t.Errorf("%d values and %d more, %v", len(list), more, err)
	}
	var b strings.Builder
	if err := cli.RateTable(list, more).Print(&b); err != nil || !strings.HasSuffix(b.String(), "and 100 more values\n") {
		t.Errorf("%v: %.100s", err, b.String())
	}
}
