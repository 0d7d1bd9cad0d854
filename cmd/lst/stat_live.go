package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console"
)

// nodeRates are the rates of one node.
type nodeRates struct {
	Node          nid.ProcessID `json:"node"`
	Received      float64       `json:"received"`       // messages per second
	Sent          float64       `json:"sent"`           // messages per second
	ReceivedBytes float64       `json:"received_bytes"` // bytes per second
	SentBytes     float64       `json:"sent_bytes"`     // bytes per second
}

// ratesOf returns the rates of the nodes that have answered both times.
func ratesOf(before, after []console.Answer, elapsed time.Duration) []nodeRates {
	list := []nodeRates{}
	earlier := make(map[nid.ProcessID]*console.Answer, len(before))
	for i := range before {
		earlier[before[i].ID] = &before[i]
	}
	for i := range after {
		old := earlier[after[i].ID]
		if old == nil {
			continue
		}
		if t := console.Rates([]console.Answer{*old}, after[i:i+1], elapsed); t.Nodes == 1 {
			list = append(list, nodeRates{after[i].ID, t.Received.Max, t.Sent.Max, t.ReceivedBytes.Max, t.SentBytes.Max})
		}
	}
	return list
}

// remembered is how many values of a rate the live table shows.
const remembered = 12

// course has the latest rates of nodes.
type course struct {
	of map[nid.ProcessID][]nodeRates // the oldest first
}

// add adds the next rate of each node. It forgets the nodes that have none.
func (c *course) add(rates []nodeRates) {
	next := make(map[nid.ProcessID][]nodeRates, len(rates))
	for _, r := range rates {
		list := append(c.of[r.Node], r)
		next[r.Node] = list[max(len(list)-remembered, 0):]
	}
	c.of = next
}

// sparks are the levels of a sparkline, the lowest first.
var sparks = []rune("▁▂▃▄▅▆▇█")

// sparkline draws values as a row of bars, of which the greatest value has the highest.
func sparkline(values []float64) string {
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	var b strings.Builder
	for _, v := range values {
		level := 0
		if top > 0 {
			level = min(int(v/top*float64(len(sparks))), len(sparks)-1)
		}
		b.WriteRune(sparks[max(level, 0)])
	}
	return b.String()
}

// screen draws a table of all nodes on a terminal.
func (s *stat) screen(w io.Writer, first bool) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s  every %v\n", time.Now().Format("15:04:05"), s.delay)
	for _, t := range s.targets {
		fmt.Fprintf(&b, "\n%s: %s", t.name, cli.Count(len(t.nodes), "node", "nodes"))
		if t.failed > 0 {
			fmt.Fprintf(&b, ", %d without an answer", t.failed)
		}
		b.WriteString("\n")
		if err := s.table(t).Print(&b); err != nil {
			return err
		}
	}
	return cli.Redraw(w, b.Bytes(), first)
}

// table is the table of the nodes of a target.
func (s *stat) table(t *statTarget) *cli.Table {
	unit, size := "MiB/s", float64(mebibyte)
	if s.view.mbs {
		unit, size = "MB/s", megabyte
	}
	table := new(cli.Table)
	table.Row("NODE", "R RPC/s", "", "W RPC/s", "", "R "+unit, "", "W "+unit, "")
	for _, r := range t.nodes {
		past := t.course.of[r.Node]
		row := []any{r.Node.NID}
		for _, one := range []struct {
			format string
			of     func(*nodeRates) float64
		}{
			{"%.0f", func(n *nodeRates) float64 { return n.Received }},
			{"%.0f", func(n *nodeRates) float64 { return n.Sent }},
			{"%.2f", func(n *nodeRates) float64 { return n.ReceivedBytes / size }},
			{"%.2f", func(n *nodeRates) float64 { return n.SentBytes / size }},
		} {
			values := make([]float64, len(past))
			for i := range past {
				values[i] = one.of(&past[i])
			}
			row = append(row, fmt.Sprintf(one.format, one.of(&r)), sparkline(values))
		}
		table.Row(row...)
	}
	return table
}
