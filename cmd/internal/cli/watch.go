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

// Style is how a command that watches shows what is new: as objects if JSON is wanted,
// as a screen on a terminal, otherwise in lines.
func Style[Show any](out io.Writer, json bool, lines, objects, screen Show) Show {
	switch {
	case json:
		return objects
	case IsTerminal(out):
		return screen
	}
	return lines
}

// Redraw replaces what a terminal shows by a text of whole lines: from the top
// left corner, with each line cleared to its end, and the rest of the screen.
// The first time, what was there before is cleared as a whole. What is too wide or
// too long for the terminal is cut: it would scroll, and the next text be drawn
// somewhere else.
func Redraw(terminal io.Writer, text []byte, first bool) error {
	columns, rows := Size(terminal)
	text = fitRows(Fit(text, columns), rows)
	start := "\x1b[H"
	if first {
		start = "\x1b[2J" + start
	}
	_, err := fmt.Fprintf(terminal, "%s%s\x1b[J", start, bytes.ReplaceAll(text, []byte("\n"), []byte("\x1b[K\n")))
	return err
}

// fitRows leaves out the lines for which a terminal has no row: the cursor needs
// one, too. 0 rows leave out nothing.
func fitRows(text []byte, rows int) []byte {
	end := 0
	for n := 1; n < rows && end < len(text); n++ {
		line := bytes.IndexByte(text[end:], '\n')
		if line < 0 {
			return text
		}
		end += line + 1
	}
	if rows <= 0 {
		return text
	}
	return text[:end]
}
