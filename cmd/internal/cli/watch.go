package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrEnough is the error by which a function ends Repeat without an error.
var ErrEnough = errors.New("enough")

// Repeat calls look, and calls it again after every interval, until look fails or ctx ends. An
// interrupt is the normal end of a command that watches. In that case Repeat returns nil, even
// if look failed because of the interrupt. It also returns nil if look returns ErrEnough.
func Repeat(ctx context.Context, interval time.Duration, look func() error) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := look(); err == ErrEnough || ctx.Err() != nil {
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

// Style chooses among three ways in which a command that watches shows changes: as JSON objects
// if json is set, else as a screen if out is a terminal, else as lines.
func Style[Show any](out io.Writer, json bool, lines, objects, screen Show) Show {
	switch {
	case json:
		return objects
	case IsTerminal(out):
		return screen
	}
	return lines
}

// Redraw replaces the contents of a terminal by a text of whole lines. It draws from the top
// left corner and clears the rest of each line and of the screen. If first is set, it first
// clears the whole screen. It cuts text that is too wide or too long for the terminal, which
// would otherwise scroll, so that the next text would not cover this one.
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

// fitRows omits the lines that do not fit the rows of a terminal. One of the rows is kept for
// the cursor. If rows is 0, fitRows omits nothing.
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
