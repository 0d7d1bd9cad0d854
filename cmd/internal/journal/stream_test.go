package journal

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// gate is a destination whose Write blocks until the channel open is closed.
type gate struct {
	open chan struct{}
	got  bytes.Buffer
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	return g.got.Write(b)
}

// newGate returns a Stream that writes to a closed gate, and the gate.
func newGate() (*Stream, *gate) {
	g := &gate{open: make(chan struct{})}
	s := NewStream(g)
	s.blocks = true
	return s, g
}

// TestStream: OP-25: the first line that is not read waits for sendTimeout, and no further one waits. When
// the queue is full, lines are dropped until all that wait are written; then a line tells how many.
func TestStream(t *testing.T) {
	spec.Covers(t, "OP-25")
	synctest.Test(t, func(t *testing.T) {
		s, g := newGate()
		s.SetFormat(func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) })
		const room, more = maxWaiting/1024 + 1, 7 // the queue has room for room-1 lines: the first line is no longer in the queue, because it is being written
		began := time.Now()
		for i := range room + more {
			fmt.Fprintf(s, "%1023d\n", i)
			if i == 0 {
				synctest.Wait()
			}
		}
		if took := time.Since(began); took != sendTimeout {
			t.Errorf("the lines waited %v, want %v", took, sendTimeout)
		}
		s.Flush(time.Second)
		if took := time.Since(began); took != sendTimeout+time.Second {
			t.Errorf("with Flush %v", took)
		}
		close(g.open)
		s.Flush(time.Second)
		fmt.Fprintln(s, "next")
		if took := time.Since(began); took != sendTimeout+time.Second {
			t.Errorf("it waits for a file that is read: %v", took)
		}
		lines := strings.Split(strings.TrimSpace(g.got.String()), "\n")
		if len(lines) != room+2 {
			t.Fatalf("%d lines, want %d", len(lines), room+2)
		}
		for i, l := range lines[:room] {
			if strings.TrimSpace(l) != fmt.Sprint(i) {
				t.Errorf("line %d is %q", i, l)
			}
		}
		if told := lines[room]; !strings.HasPrefix(told, "{") || !strings.HasSuffix(told, fmt.Sprintf(`"lines":%d}`, more)) || lines[room+1] != "next" {
			t.Errorf("at the end %q", lines[room:])
		}
	})
}

// TestStreamIsSynchronous: while the file is read, a line is written when Write returns. If the
// destination is not a file, the goroutine of the caller writes to it.
func TestStreamIsSynchronous(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := newGate()
		close(g.open)
		for i := range 100 {
			fmt.Fprintln(s, i)
			if n := strings.Count(g.got.String(), "\n"); n != i+1 {
				t.Fatalf("%d lines of %d are written", n, i+1)
			}
		}
	})
	var b bytes.Buffer
	s := NewStream(&b)
	if fmt.Fprint(s, "x"); b.String() != "x" || NewStream(s) != s {
		t.Errorf("%q", &b)
	}
	s.Flush(0)
}
