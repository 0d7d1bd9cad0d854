package daemon

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/lnd/lndtest/spec"
)

// fill fills a pipe with lines, and returns how many.
func fill(t *testing.T, w *os.File) (lines int) {
	t.Helper()
	line := append(bytes.Repeat([]byte("x"), 4095), '\n') // written atomically, because it is not longer than PIPE_BUF
	for {
		if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		_, err := w.Write(line)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		lines++
	}
	if err := w.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestStuckReader: OP-25: if the reader of the log stops reading, no goroutine that logs is blocked. Lines
// are dropped; when the reader reads again, one line says how many were dropped.
func TestStuckReader(t *testing.T) {
	spec.Covers(t, "OP-25")
	for _, format := range []string{config.LogJSON, config.LogText} {
		t.Run(format, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			before := fill(t, w)
			c := config.Default()
			c.LogFormat = format
			l := NewLog(cli.Env{Stderr: w, Getenv: func(string) string { return "" }}, new(bytes.Buffer), &c)
			const sent = 10_000
			logged := make(chan struct{})
			go func() {
				defer close(logged)
				for range sent {
					l.Info("sent", "text", strings.Repeat("y", 100))
				}
			}()
			select {
			case <-logged:
			case <-time.After(20 * time.Second):
				t.Fatal("the log waits for its reader")
			}
			lines := bufio.NewScanner(r)
			for range before {
				lines.Scan()
			}
			arrived := 0
			for lines.Scan() && !strings.Contains(lines.Text(), "were dropped") {
				arrived++
			}
			if got := droppedIn(t, format, lines.Text()); got == 0 || arrived+got != sent {
				t.Errorf("%d lines arrived of %d, and %d were dropped: %s", arrived, sent, got, lines.Text())
			}
			w.Close()
		})
	}
}

// droppedIn returns the number of lines that a line says were dropped.
func droppedIn(t *testing.T, format, line string) (lines int) {
	t.Helper()
	if format == config.LogText {
		_, text, _ := strings.Cut(line, " lines=")
		if err := json.Unmarshal([]byte(text), &lines); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		return lines
	}
	var fields struct{ Lines int }
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	return fields.Lines
}
