package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ulnet/lnet/selftest/console"
)

// statView says which values of a report stat prints. If no option of a kind is given (such as read
// and write), stat prints all values of that kind.
type statView struct {
	rate, bandwidth bool
	read, write     bool
	avg, min, max   bool
	mbs             bool // megabytes instead of mebibytes
	rpc             bool // the option --rpc, which Lustre's tool accepts without ever showing counters of RPCs; so nothing is printed
	lnet            bool // the option --lnet: print the counters of LNet even if rpc is set
}

func (v *statView) flags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVarP(&v.bandwidth, "bw", "b", false, "show bytes per second only")
	f.BoolVarP(&v.rate, "rate", "a", false, "show messages per second only")
	f.BoolVarP(&v.read, "read", "r", false, "show what the nodes send only")
	f.BoolVarP(&v.write, "write", "w", false, "show what the nodes receive only")
	f.BoolVarP(&v.avg, "avg", "g", false, "show averages only")
	f.BoolVarP(&v.min, "min", "n", false, "show least values only")
	f.BoolVarP(&v.max, "max", "x", false, "show greatest values only")
	f.BoolVarP(&v.mbs, "mbs", "m", false, "count in megabytes of 1000000 bytes")
	f.BoolVarP(&v.rpc, "rpc", "c", false, "show nothing, as Lustre's tool")
	f.BoolVarP(&v.lnet, "lnet", "l", false, "show the counters of LNet, which is the default")
}

// print prints the rates of a group.
func (v *statView) print(w io.Writer, name string, t *console.Traffic) error {
	if v.rpc && !v.lnet {
		return nil
	}
	var b strings.Builder
	if v.rate || !v.bandwidth {
		fmt.Fprintf(&b, "[LNet Rates of %s]\n", name)
		v.directions(&b, t.Received, t.Sent, v.messages)
	}
	if v.bandwidth || !v.rate {
		fmt.Fprintf(&b, "[LNet Bandwidth of %s]\n", name)
		v.directions(&b, t.ReceivedBytes, t.SentBytes, v.bytes)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (v *statView) directions(b *strings.Builder, received, sent console.Figure, line func(console.Figure) string) {
	if v.write || !v.read {
		b.WriteString("[R] " + line(received) + "\n")
	}
	if v.read || !v.write {
		b.WriteString("[W] " + line(sent) + "\n")
	}
}

// messages returns the line with rates of messages. The value of Max has one blank after it, the other
// values have two, as in Lustre's tool.
func (v *statView) messages(s console.Figure) string {
	return v.values(s, func(name string, x float64) string {
		text := fmt.Sprintf("%s: %-8.0f RPC/s", name, x)
		if name != "Max" {
			text += " "
		}
		return text
	})
}

// Divisors of bandwidths.
const (
	mebibyte = 1 << 20
	megabyte = 1e6
)

// bytes is the line of a bandwidth.
func (v *statView) bytes(s console.Figure) string {
	unit, size := "MiB/s", float64(mebibyte)
	if v.mbs {
		unit, size = "MB/s ", megabyte
	}
	return v.values(s, func(name string, x float64) string { return fmt.Sprintf("%s: %-8.2f %s ", name, x/size, unit) })
}

func (v *statView) values(s console.Figure, text func(name string, x float64) string) string {
	every := !v.avg && !v.min && !v.max
	var b strings.Builder
	for _, one := range []struct {
		name  string
		shown bool
		x     float64
	}{{"Avg", v.avg, s.Avg}, {"Min", v.min, s.Min}, {"Max", v.max, s.Max}} {
		if every || one.shown {
			b.WriteString(text(one.name, one.x))
		}
	}
	return b.String()
}

// reportDoc is a report of stat in JSON.
type reportDoc struct {
	Time   time.Time `json:"time"`
	Target string    `json:"target"`
	console.Traffic
	Failed  int         `json:"failed"` // number of nodes without an answer
	PerNode []nodeRates `json:"per_node"`
}

// objects prints a JSON object for each target of a report.
func (s *stat) objects(w io.Writer, _ bool) error {
	e := json.NewEncoder(w)
	for _, t := range s.targets {
		if err := e.Encode(reportDoc{time.Now(), t.name, t.rates, t.failed, t.nodes}); err != nil {
			return err
		}
	}
	return nil
}
