package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

func result(seed uint64, at time.Duration, ok bool, values ...float64) *scenario.Result {
	r := &scenario.Result{
		Seed: seed, Nodes: 3, Level: scenario.Machines, Virtual: 2 * time.Second, Wall: time.Millisecond, Digest: seed,
		Stats:    sim.Stats{Events: 1000, Sent: 10},
		Expects:  []scenario.Outcome{{Line: 4, Text: "expect heard all within 1s", OK: ok, At: at}},
		Measures: []scenario.Measure{{Name: "rumours", Unit: "1", Value: float64(seed)}},
		Series:   []scenario.Series{{Quantity: scenario.Quantity{Name: "heard all", Unit: "nodes", Doc: "nodes that heard"}}},
	}
	if !ok {
		r.Expects[0].Why = "2 did not"
	}
	for i, v := range values {
		r.Series[0].At = append(r.Series[0].At, time.Duration(i)*time.Second)
		r.Series[0].Value = append(r.Series[0].Value, v)
	}
	return r
}

func testFile(t *testing.T) *scenario.File {
	t.Helper()
	f, err := scenario.Parse("x.sim", []byte("protocol flood\nnodes 3\nrun 2s\nexpect heard all within 1s\n"), protocols)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func repeat(uint64) string { return "again" }

func TestTables(t *testing.T) {
	for _, test := range []struct {
		name    string
		results []*scenario.Result
		want    string
	}{
		{"one", []*scenario.Result{result(1, time.Second, true)}, `x.sim: flood, 3 nodes, machines, seed 1: 2s of virtual time in 500ms, 0.0M events/s

LINE  EXPECTED                    RESULT
4     expect heard all within 1s  ok at 1s

MEASURE        VALUE  
rumours        1      1
events         1000   
steps          0      
messages sent  10     
bytes sent     0      B

digest 0000000000000001
`},
		{"several", []*scenario.Result{result(1, time.Second, true), result(2, 2*time.Second, false), result(3, 1200*time.Millisecond, true)}, `x.sim: flood, 3 nodes, machines, seeds 1 to 3: 3 times 2s of virtual time in 500ms, 0.0M events/s

LINE  EXPECTED                    HELD    P50  P90   P99   WORST  FAILED
4     expect heard all within 1s  2 of 3  1s   1.2s  1.2s  1.2s   seed 2 at 2s: 2 did not

MEASURE        MIN   P50   P90   P99   MAX   
rumours        1     2     3     3     3     1
events         1000  1000  1000  1000  1000  
steps          0     0     0     0     0     
messages sent  10    10    10    10    10    
bytes sent     0     0     0     0     0     B
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b strings.Builder
			if err := printReport(&b, newReport(testFile(t), test.results, 500*time.Millisecond, repeat)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailure(t *testing.T) {
	for _, test := range []struct {
		name    string
		results []*scenario.Result
		want    string
	}{
		{"ok", []*scenario.Result{result(1, 0, true)}, ""},
		{"failed", []*scenario.Result{result(1, 0, false)}, "1 of 1 expectations failed with seed 1"},
		{"some failed", []*scenario.Result{result(1, 0, true), result(2, 0, false), result(3, 0, false)}, "2 of 3 runs failed, the first with seed 2"},
	} {
		err := newReport(testFile(t), test.results, 0, repeat).failure()
		if got := text(err); got != test.want || err != nil && cli.HintOf(err) != "to repeat it: again" {
			t.Errorf("%s: %q with hint %q, want %q", test.name, got, cli.HintOf(err), test.want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestSpread(t *testing.T) {
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(100 - i)
	}
	if diff := cmp.Diff(spread{1, 50, 90, 99, 100}, spreadOf(values)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(spread{7, 7, 7, 7, 7}, spreadOf([]float64{7})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlots(t *testing.T) {
	for _, test := range []struct {
		name    string
		results []*scenario.Result
		want    string
	}{
		{"one", []*scenario.Result{result(1, 0, true, 0, 1.5, 3)}, "at_s,heard all\n0,0\n1,1.5\n2,3\n"},
		{
			"several, one of which ends early",
			[]*scenario.Result{result(1, 0, true, 0, 1, 3), result(2, 0, true, 0, 3), result(3, 0, true, 0, 2, 4)},
			"at_s,heard all,heard all min,heard all max\n0,0,0,0\n1,2,1,3\n",
		},
		{"empty", []*scenario.Result{result(1, 0, true)}, "at_s,heard all\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new", "folder")
			if err := writePlots(dir, testFile(t), test.results); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(dir, "series.csv"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			wantSVG(t, filepath.Join(dir, "heard-all.svg"), "virtual time, s", "heard all, nodes", "x.sim: nodes that heard")
		})
	}
}

// wantSVG fails the test unless the file is a well-formed SVG that contains the texts.
func wantSVG(t *testing.T, file string, texts ...string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(content))); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range texts {
		if !strings.Contains(string(content), want) {
			t.Errorf("%s has no %q", file, want)
		}
	}
}
