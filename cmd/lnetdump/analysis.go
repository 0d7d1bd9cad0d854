package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/dissection"
	"ulnet/lnd/capture"
	"ulnet/lnd/capture/analyze"
	"ulnet/lnet/nid"
)

// analysis makes the reports of --analyze: one at the end of each source, and with --follow also one at
// the end of each interval (an intermediate report).
type analysis struct {
	cfg      analyze.Config
	options  *options
	terminal io.Writer // standard output
	reports  int
	tick     func(time.Duration) (ticks <-chan time.Time, stop func())

	mu  sync.Mutex // guards the field below and, with --follow, the dissector
	now *analyze.Analyzer
}

func newAnalysis(o *options, stdout io.Writer) (*analysis, error) {
	cfg, err := o.analysis.config()
	if err != nil {
		return nil, err
	}
	switch {
	case o.stats, len(o.types) > 0:
		return nil, cli.Usagef("--analyze excludes --stats and --type")
	case o.write == "-":
		return nil, cli.Usagef("--analyze prints to the standard output: give --write a file")
	case len(o.arguments) > 1 && (o.follow || o.analysis.plot != ""):
		return nil, cli.Usagef("--follow and --plot take one capture, not %d", len(o.arguments))
	}
	return &analysis{cfg: cfg, options: o, terminal: stdout, tick: func(every time.Duration) (<-chan time.Time, func()) {
		t := time.NewTicker(every)
		return t.C, t.Stop
	}}, nil
}

// needless returns an error if a flag was given that only --analyze uses.
func (o *options) needless() error {
	if !o.analysis.on && (o.analysis.plot != "" || len(o.analysis.rpcs) > 0) {
		return cli.Usagef("--plot and --rpc are for --analyze")
	}
	return nil
}

// locked calls f. With --follow it holds a lock meanwhile, so that no report is made at the same time.
func (a *analysis) locked(f func()) {
	if a != nil && a.options.follow {
		a.mu.Lock()
		defer a.mu.Unlock()
	}
	f()
}

// record analyzes a record, unless the record is a message or an exchange that the filter does not select.
// Records about connections are always analyzed: the method report selects links by the NIDs at their ends.
func (a *analysis) record(f *dissection.Filter, r *capture.Record) {
	if (r.Kind == capture.Message || r.Kind == capture.Exchange) && !f.Match(r) {
		return
	}
	a.now.Record(r)
}

// begin begins the analysis of a source, and its intermediate reports. Call end to end these reports.
func (a *analysis) begin(src source) (end func()) {
	a.mu.Lock()
	a.now = analyze.New(a.cfg)
	a.mu.Unlock()
	if !a.options.follow {
		return func() {}
	}
	ticks, stop := a.tick(a.options.analysis.interval)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		a.every(ticks, done, src)
	}()
	return func() {
		stop()
		close(done)
		<-ended
	}
}

// every shows an intermediate report at every tick. It ignores an error of the output, because the last
// report fails with it, too.
func (a *analysis) every(ticks <-chan time.Time, done <-chan struct{}, src source) {
	for {
		select {
		case <-ticks:
			_ = a.show(src)
		case <-done:
			return
		}
	}
}

// report makes a report on the source that is being read.
func (a *analysis) report(src source) *analyze.Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Time{}
	if src.live && a.options.follow {
		now = time.Now()
	}
	r := a.now.Report(now)
	if want := a.options.wanted(); len(want) > 0 {
		r.Links = slices.DeleteFunc(r.Links, func(l analyze.Link) bool {
			return !slices.Contains(want, l.Ends[0].NID) && !slices.Contains(want, l.Ends[1].NID)
		})
	}
	return r
}

// wanted returns the NIDs of --nid, which were checked before.
func (o *options) wanted() (list []nid.NID) {
	for _, s := range o.nids {
		if n, err := nid.Parse(s); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// fileReport is a report with the name of its source, if there are several.
type fileReport struct {
	File string `json:"file,omitempty"`
	*analyze.Report
}

// show prints a report.
func (a *analysis) show(src source) error {
	r := a.report(src)
	show := cli.Style(a.terminal, a.options.json, a.lines, a.object, a.screen)
	err := show(fileReport{a.fileName(src), r})
	a.reports++
	return err
}

func (a *analysis) fileName(src source) string {
	if len(a.options.arguments) > 1 {
		return src.name
	}
	return ""
}

func (a *analysis) object(r fileReport) error {
	e := json.NewEncoder(a.terminal)
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

func (a *analysis) lines(r fileReport) error {
	var b bytes.Buffer
	if a.reports > 0 {
		b.WriteString("\n")
	}
	if r.File != "" {
		fmt.Fprintf(&b, "==> %s <==\n", r.File)
	}
	writeReport(&b, r.Report)
	_, err := a.terminal.Write(b.Bytes())
	return err
}

func (a *analysis) screen(r fileReport) error {
	if !a.options.follow {
		return a.lines(r)
	}
	var b bytes.Buffer
	writeReport(&b, r.Report)
	return cli.Redraw(a.terminal, b.Bytes(), a.reports == 0)
}

// finish shows the last report on a source, and draws it. Without an analysis it does nothing.
func (a *analysis) finish(src source) error {
	if a == nil {
		return nil
	}
	err := a.show(src)
	path := a.options.analysis.plot
	if path == "" {
		return err
	}
	return errors.Join(err, cli.Save(path, "--plot", a.report(src).Plot))
}
