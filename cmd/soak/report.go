package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/lndtest/netlab/netem"
)

// report is the result of a run.
type report struct {
	Seed         uint64                `json:"seed"`
	Seconds      float64               `json:"seconds"`
	Workers      int                   `json:"workers"`
	Incarnations int                   `json:"lives"`
	Operations   map[string]*totals    `json:"operations"`
	Faults       map[string]faultCount `json:"faults"`
	Frames       netem.Counters        `json:"frames"` // counters of frames, summed over all links
}

func (s *soak) report() *report {
	r := &report{
		Seed: s.cfg.seed, Seconds: time.Since(s.began).Seconds(), Workers: len(s.members), Incarnations: len(s.ledger.incarnations),
		Operations: s.ledger.total(), Faults: make(map[string]faultCount),
	}
	for k, n := range s.counts {
		r.Faults[faultKind(k).String()] = n
	}
	for _, m := range s.members {
		for i, wire := range m.wires {
			r.Frames = r.Frames.Add(wire.Counters(m.host)).Add(wire.Counters(m.hubs[i]))
		}
	}
	return r
}

// printReport prints the report as text.
func printReport(w io.Writer, r *report) error {
	var t cli.Table
	t.Row("operation", "number", "ok", "MiB", "SEND failed", "no answer", "killed", "arrived", "again", "broken off")
	for kind := range opKinds {
		o := r.Operations[kind.String()]
		t.Row(kind, o.Operations, o.OK, o.Bytes>>20, reasons(o.Failed), reasons(o.Unanswered), o.Killed, o.Arrived, o.Again, o.Broken)
	}
	err := t.Print(w)
	fmt.Fprintln(w)
	t = cli.Table{}
	t.Row("fault", "times", "seconds")
	for k := range faultKinds {
		n := r.Faults[k.String()]
		t.Row(k, n.Times, fmt.Sprintf("%.1f", n.Seconds))
	}
	err = cmp.Or(err, t.Print(w))
	fmt.Fprintf(w, "\n%d frames on the wires: %d lost, %d found no room, %d duplicated, %d corrupted, %d held back\n"+
		"%d workers with %d incarnations, %.0f s, seed %d: every operation accounted for\n",
		r.Frames.Frames, r.Frames.Lost, r.Frames.Overflowed, r.Frames.Duplicated, r.Frames.Corrupted, r.Frames.Reordered,
		r.Workers, r.Incarnations, r.Seconds, r.Seed)
	return err
}

// progress prints the progress of a run.
type progress struct {
	w        io.Writer
	terminal bool
	ticker   *time.Ticker
}

// Intervals of progress output on a terminal, and in logs.
const (
	quickly = 500 * time.Millisecond
	slowly  = 10 * time.Second
)

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, terminal: cli.IsTerminal(w)}
	interval := slowly
	if p.terminal {
		interval = quickly
	}
	p.ticker = time.NewTicker(interval)
	return p
}

func (p *progress) tick() <-chan time.Time { return p.ticker.C }

func (p *progress) show(s *soak) {
	began, over, faults := 0, 0, 0
	for _, l := range s.ledger.incarnations {
		began += l.begun
		over += l.over
	}
	for _, n := range s.counts {
		faults += n.Times
	}
	line := fmt.Sprintf("%5.0f of %.0f s: %d operations begun, %d ended, %d faults, %d incarnations",
		time.Since(s.began).Seconds(), s.cfg.length.Seconds(), began, over, faults, len(s.ledger.incarnations))
	if p.terminal {
		fmt.Fprintf(p.w, "\r\033[K%s", line)
		return
	}
	fmt.Fprintln(p.w, line)
}

func (p *progress) end() {
	p.ticker.Stop()
	if p.terminal {
		fmt.Fprint(p.w, "\r\033[K")
	}
}
