package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/sim/scenario"
)

// bar is a progress bar of several runs, for terminals only. It is safe for concurrent use.
type bar struct {
	w     io.Writer // terminal to draw on; nil: output is not a terminal
	label string    // text in front of the bar
	runs  int

	mu     sync.Mutex
	share  []float64 // finished share of each run, from 0 to 1
	events []uint64
	begun  time.Time
	shown  time.Time
}

// barEvery is how often the bar is drawn.
const barEvery = 100 * time.Millisecond

// newBar returns the progress bar for a number of runs.
func newBar(w io.Writer, runs int) *bar {
	b := &bar{runs: runs, share: make([]float64, runs), events: make([]uint64, runs), begun: time.Now()}
	if cli.IsTerminal(w) {
		b.w = w
	}
	return b
}

// of returns the function that receives the progress of a run.
func (b *bar) of(run int) func(scenario.Progress) {
	if b.w == nil {
		return nil
	}
	return func(p scenario.Progress) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.share[run] = float64(p.Virtual) / float64(max(p.Length, 1))
		b.events[run] = p.Stats.Events
		if now := time.Now(); now.Sub(b.shown) >= barEvery {
			b.shown = now
			fmt.Fprintf(b.w, "\r%s%s\x1b[K", b.label, b.text(now))
		}
	}
}

// text returns the bar without colours: [#####.....] 50% 10 of 20 runs, 1.2M events/s.
func (b *bar) text(now time.Time) string {
	const width = 30
	var sum float64
	var events uint64
	complete := 0
	for i, s := range b.share {
		sum += s
		events += b.events[i]
		if s >= 1 {
			complete++
		}
	}
	share := sum / float64(b.runs)
	full := int(share * width)
	text := fmt.Sprintf("[%s%s] %3.0f%%", strings.Repeat("#", full), strings.Repeat(".", width-full), share*100)
	if b.runs > 1 {
		text += fmt.Sprintf("  %d of %d runs", complete, b.runs)
	}
	if s := now.Sub(b.begun).Seconds(); s > 0 {
		text += fmt.Sprintf("  %.1fM events/s", float64(events)/s/1e6)
	}
	return text
}

// end removes the bar.
func (b *bar) end() {
	if b.w != nil {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}
