package main

import (
	"cmp"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/sim/scenario"
)

// curve is a quantity over time: its median over the runs, and its range. With one run, the
// median and both ends of the range are equal.
type curve struct {
	scenario.Quantity
	at            []time.Duration
	median        []float64
	least, utmost []float64
}

// curves combines the series of several runs, instant by instant. Runs are sampled at the same instants. If a
// run ended early, the curves end there.
func curves(results []*scenario.Result) []curve {
	var list []curve
	for i, s := range results[0].Series {
		c := curve{Quantity: s.Quantity, at: s.At}
		for _, r := range results {
			c.at = c.at[:min(len(c.at), len(r.Series[i].At))]
		}
		for k := range c.at {
			values := make([]float64, len(results))
			for n, r := range results {
				values[n] = r.Series[i].Value[k]
			}
			sp := spreadOf(values)
			c.median = append(c.median, sp.P50)
			c.least = append(c.least, sp.Min)
			c.utmost = append(c.utmost, sp.Max)
		}
		list = append(list, c)
	}
	return list
}

// writePlots writes the time series of some runs to a folder: series.csv with all of
// them, and an SVG for each.
func writePlots(dir string, f *scenario.File, results []*scenario.Result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	list := curves(results)
	err := cli.Save(filepath.Join(dir, "series.csv"), "--plot", func(w io.Writer) error { return writeCSV(w, list, len(results)) })
	for i := range list {
		err = cmp.Or(err, cli.Save(filepath.Join(dir, fileName(list[i].Name)+".svg"), "--plot", func(w io.Writer) error {
			return writeSVG(w, f, &list[i], len(results))
		}))
	}
	return err
}

// writeCSV writes the instants in seconds and a column for each curve, or three columns if
// there are several runs.
func writeCSV(w io.Writer, list []curve, runs int) error {
	head := []string{"at_s"}
	for _, c := range list {
		head = append(head, c.Name)
		if runs > 1 {
			head = append(head, c.Name+" min", c.Name+" max")
		}
	}
	rows := [][]string{head}
	for k := range longest(list) {
		row := []string{decimal(list[0].at[k].Seconds())}
		for _, c := range list {
			row = append(row, decimal(c.median[k]))
			if runs > 1 {
				row = append(row, decimal(c.least[k]), decimal(c.utmost[k]))
			}
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// longest returns the number of instants, which is the same for all curves.
func longest(list []curve) int {
	if len(list) == 0 {
		return 0
	}
	return len(list[0].at)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// fileName turns the name of a quantity into a file name.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if slices.Contains([]rune("-_."), r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, name)
}
