package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"ulnet/cmd/internal/cli"
)

// printReport prints a report for people to read.
func printReport(w io.Writer, r *report) error {
	first := r.Runs[0]
	fmt.Fprintf(w, "%s: %s, %d nodes, %s, ", r.File, r.Protocol, r.Nodes, r.Level)
	if len(r.Runs) == 1 {
		fmt.Fprintf(w, "seed %d: %v of virtual time in %v%s\n", first.Seed, first.Virtual, roughly(r.Wall), r.speed())
	} else {
		fmt.Fprintf(w, "seeds %d to %d: %d times %v of virtual time in %v%s\n",
			first.Seed, r.Runs[len(r.Runs)-1].Seed, len(r.Runs), first.Virtual, roughly(r.Wall), r.speed())
	}
	var err error
	for _, t := range []cli.Table{r.expectTable(), r.measureTable()} {
		fmt.Fprintln(w)
		err = t.Print(w)
	}
	if len(r.Runs) == 1 {
		fmt.Fprintf(w, "\ndigest %s\n", first.Digest)
	}
	return err
}

// speed returns the number of events per second of wall time.
func (r *report) speed() string {
	var events uint64
	for i := range r.Runs {
		events += r.Runs[i].Stats.Events
	}
	if r.Wall <= 0 {
		return ""
	}
	return fmt.Sprintf(", %.1fM events/s", float64(events)/r.Wall/1e6)
}

func (r *report) expectTable() (t cli.Table) {
	if len(r.Runs) == 1 {
		t.Row("LINE", "EXPECTED", "RESULT")
		for _, e := range r.Expects {
			t.Row(e.Line, e.Text, e.result())
		}
		return t
	}
	t.Row("LINE", "EXPECTED", "HELD", "P50", "P90", "P99", "WORST", "FAILED")
	for _, e := range r.Expects {
		cells := []any{e.Line, e.Text, fmt.Sprintf("%d of %d", e.Held, len(r.Runs)), "-", "-", "-", "-", ""}
		if e.At != nil && e.decides() {
			for i, v := range []float64{e.At.P50, e.At.P90, e.At.P99, e.At.Max} {
				cells[3+i] = seconds(v)
			}
		}
		if e.FailedSeed != nil {
			cells[7] = fmt.Sprintf("seed %d at %v: %s", *e.FailedSeed, e.FailedAt, e.Why)
		}
		t.Row(cells...)
	}
	return t
}

// decides reports whether a report should show when a check was fulfilled. For the checks always
// and never it should not, because they are fulfilled only at the end.
func (e *expect) decides() bool { return strings.HasPrefix(e.Text, "expect") }

func (e *expect) result() string {
	switch {
	case e.FailedSeed != nil:
		return fmt.Sprintf("FAILED at %v: %s", e.FailedAt, e.Why)
	case e.decides():
		return "ok at " + seconds(e.At.P50)
	}
	return "ok"
}

func (r *report) measureTable() (t cli.Table) {
	if len(r.Runs) == 1 {
		t.Row("MEASURE", "VALUE", "")
	} else {
		t.Row("MEASURE", "MIN", "P50", "P90", "P99", "MAX", "")
	}
	for _, m := range r.Measures {
		switch {
		case m.Min == 0 && m.Max == 0 && strings.HasPrefix(m.Name, "messages "):
		case len(r.Runs) == 1:
			t.Row(m.Name, number(m.P50), m.Unit)
		default:
			t.Row(m.Name, number(m.Min), number(m.P50), number(m.P90), number(m.P99), number(m.Max), m.Unit)
		}
	}
	return t
}

// number formats a number with four digits, or a whole number with all its digits.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 || math.Abs(v) >= 1e4 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func seconds(v float64) string { return time.Duration(math.Round(v * 1e9)).String() }

// roughly rounds a wall time for display.
func roughly(s float64) time.Duration {
	d := time.Duration(s * 1e9)
	if d > time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(100 * time.Microsecond)
}
