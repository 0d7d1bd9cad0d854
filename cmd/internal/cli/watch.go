package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"
)

// Repeat calls look at once and then every interval, until it fails or ctx ends.
// An interrupt is the ordinary end of a command that watches: after it the
// error is nil, also where it made look fail.
func Repeat(ctx context.Context, interval time.Duration, look func() error) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := look(); ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Redraw replaces what a terminal shows by a text of whole lines: from the top
// left corner, with each line cleared to its end, and the rest of the screen.
// The first time, what was there before is cleared as a whole.
func Redraw(terminal io.Writer, text []byte, first bool) error {
	start := "\x1b[H"
	if first {
		start = "\x1b[2J" + start
	}
	_, err := fmt.Fprintf(terminal, "%s%s\x1b[J", start, bytes.ReplaceAll(text, []byte("\n"), []byte("\x1b[K\n")))
	return err
}
