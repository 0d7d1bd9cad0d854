package main

import (
	"fmt"
	"io"

	"ulnet/cmd/internal/cli"
)

// progress shows the progress of a transfer on a terminal, unless the events, which show it as well,
// are printed there.
type progress struct {
	w     io.Writer // terminal to write to; nil: nothing is shown
	total int64     // expected number of bytes; -1: not known
	done  int64
}

// newProgress shows progress on w if w is a terminal and the events do not go to one.
func newProgress(w, events io.Writer, total int64) *progress {
	if !cli.IsTerminal(w) || cli.IsTerminal(events) {
		w = nil
	}
	return &progress{w: w, total: total}
}

func (p *progress) add(bytes int64) {
	p.done += bytes
	switch {
	case p.w == nil:
	case p.total > 0:
		fmt.Fprintf(p.w, "\r%d of %d bytes (%d %%)", p.done, p.total, p.done*100/p.total)
	default:
		fmt.Fprintf(p.w, "\r%d bytes", p.done)
	}
}

// end ends the line of the progress.
func (p *progress) end() {
	if p.w != nil && p.done > 0 {
		fmt.Fprintln(p.w)
	}
}
