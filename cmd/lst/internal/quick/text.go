package quick

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"ulnet/cmd/internal/cli"
)

// widest is the largest number of servers that are shown as the columns of a matrix. More servers are
// shown as a list.
const widest = 8

// Print writes the result as text: matrices with a row for each client and a column for each
// server, or a list if these are many, and what was slow or failed.
func (r *Result) Print(w io.Writer) error {
	p := &printer{w: w}
	p.say("%s, %d at a time, %v for each pair, %d rounds of pairs that share no node\n", r.what(), r.Concurrency, r.Round.Round(time.Millisecond), r.Rounds)
	if len(r.To) <= widest {
		for _, q := range r.quantities() {
			p.say("\n%s\n", q.title)
			p.table(r.matrix(q.text))
		}
	} else {
		p.say("\n")
		p.table(r.list())
	}
	if slices.ContainsFunc(r.Pairs, func(q Pair) bool { return q.Latency.Single }) {
		p.say("* of single RPCs, because the client is the node of this console\n")
	}
	r.summary(p)
	return p.err
}

// printer writes and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) say(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) table(t *cli.Table) {
	if p.err == nil {
		p.err = t.Print(p.w)
	}
}

// what says what was measured.
func (r *Result) what() string {
	if r.Op == "" {
		return r.Service
	}
	return fmt.Sprintf("%s %s of %s", r.Service, r.Op, size(r.Size))
}

func size(n int) string {
	switch {
	case n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// quantity is something that a matrix shows.
type quantity struct {
	title string
	text  func(*Pair) string
}

func (r *Result) quantities() (list []quantity) {
	if r.Op != "" {
		list = append(list, quantity{"MiB/s", func(p *Pair) string { return fmt.Sprintf("%.1f", p.Bandwidth/(1<<20)) }})
	}
	return append(
		list,
		quantity{"RPC/s", func(p *Pair) string { return fmt.Sprintf("%.0f", p.Rate) }},
		quantity{"latency of an RPC, p50/p90/p99 of intervals", func(p *Pair) string {
			l, mark := &p.Latency, ""
			if l.Single {
				mark = "*"
			}
			return fmt.Sprintf("%v/%v/%v%s", short(l.P50), short(l.P90), short(l.P99), mark)
		}},
	)
}

// short rounds a time to at most four digits.
func short(d time.Duration) time.Duration {
	unit := time.Nanosecond
	for d/unit >= 10_000 {
		unit *= 10
	}
	return d.Round(unit)
}

// matrix has a row for each client and a column for each server.
func (r *Result) matrix(text func(*Pair) string) *cli.Table {
	var t cli.Table
	head := []any{"FROM / TO"}
	for _, to := range r.To {
		head = append(head, to)
	}
	t.Row(head...)
	for i, from := range r.From {
		row := []any{from}
		for j := range r.To {
			row = append(row, cell(r.at(i, j), text))
		}
		t.Row(row...)
	}
	return &t
}

func cell(p *Pair, text func(*Pair) string) string {
	switch {
	case p == nil:
		return "-"
	case p.Failed != "":
		return "failed"
	}
	return text(p)
}

// list has a row for each pair.
func (r *Result) list() *cli.Table {
	var t cli.Table
	head := []any{"FROM", "TO"}
	quantities := r.quantities()
	for _, q := range quantities {
		head = append(head, q.title)
	}
	t.Row(head...)
	for i := range r.Pairs {
		p := &r.Pairs[i]
		row := []any{p.From, p.To}
		for _, q := range quantities {
			row = append(row, cell(p, q.text))
		}
		t.Row(row...)
	}
	return &t
}

// summary names the fastest and the slowest pair, and those with errors.
func (r *Result) summary(p *printer) {
	var measured []*Pair
	for i := range r.Pairs {
		if q := &r.Pairs[i]; q.Failed == "" {
			measured = append(measured, q)
		}
	}
	slices.SortStableFunc(measured, func(a, b *Pair) int { return cmp.Compare(a.Rate, b.Rate) })
	if len(measured) > 1 {
		slow, fast := measured[0], measured[len(measured)-1]
		p.say("\nslowest  %s -> %s  %.0f RPC/s\nmedian   %.0f RPC/s\nfastest  %s -> %s  %.0f RPC/s\n",
			slow.From, slow.To, slow.Rate, measured[len(measured)/2].Rate, fast.From, fast.To, fast.Rate)
	}
	for i := range r.Pairs {
		switch q := &r.Pairs[i]; {
		case q.Failed != "":
			p.say("failed   %s -> %s: %s\n", q.From, q.To, q.Failed)
		case q.Errors > 0:
			p.say("errors   %s -> %s: %d of %d RPCs\n", q.From, q.To, q.Errors, q.RPCs)
		}
	}
}
