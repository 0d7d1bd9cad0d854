package cli_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"ulnet/cmd/internal/cli"
)

// TestRepeat: Repeat calls its function at once. An error of the function ends it. An interrupt
// ends it too and is no error, even if the function fails because of it.
func TestRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, looks := time.Now(), 0
		err := cli.Repeat(t.Context(), time.Second, func() error {
			if looks++; looks == 3 {
				return errRefused
			}
			return nil
		})
		if took := time.Since(begin); !errors.Is(err, errRefused) || took != 2*time.Second {
			t.Errorf("%d looks in %v: %v", looks, took, err)
		}
		if err := cli.Repeat(t.Context(), time.Second, func() error { return cli.ErrEnough }); err != nil {
			t.Error(err)
		}
		ctx, interrupt := context.WithTimeout(t.Context(), 90*time.Second)
		defer interrupt()
		for range 2 { // cancel the context once while Repeat waits, and once while look runs
			if err := cli.Repeat(ctx, time.Minute, ctx.Err); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestRedraw(t *testing.T) {
	var screen strings.Builder
	for first := range 2 {
		if err := cli.Redraw(&screen, []byte("a\nb\n"), first == 0); err != nil {
			t.Fatal(err)
		}
	}
	const page = "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J"
	if got, want := screen.String(), "\x1b[2J"+page+page; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// newTerminal returns a terminal of this size, and the output written to it.
func newTerminal(t *testing.T, columns, rows uint16) (terminal, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows})
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return terminal, screen
}

// TestRedrawFits: on a small terminal lines and rows are cut, so that the terminal does not
// scroll. A terminal that does not know its size gets the whole text.
func TestRedrawFits(t *testing.T) {
	for _, c := range []struct {
		columns, rows uint16
		want          string
	}{
		{5, 3, "\x1b[Hgrüße\x1b[K\r\nb\x1b[K\r\n\x1b[J"},
		{80, 4, "\x1b[Hgrüßen\x1b[K\r\nb\x1b[K\r\nc\x1b[K\r\n\x1b[J"},
		{0, 0, "\x1b[Hgrüßen\x1b[K\r\nb\x1b[K\r\nc\x1b[K\r\n\x1b[J"},
	} {
		terminal, screen := newTerminal(t, c.columns, c.rows)
		if !cli.IsTerminal(terminal) {
			t.Fatal("a terminal is none")
		}
		if err := cli.Redraw(terminal, []byte("grüßen\nb\nc\n"), false); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(terminal, "$")
		got, err := bufio.NewReader(screen).ReadString('$')
		if got != c.want+"$" || err != nil {
			t.Errorf("%d x %d: %q, %v, want %q", c.columns, c.rows, got, err, c.want)
		}
	}
	if columns, rows := cli.Size(&strings.Builder{}); columns != 0 || rows != 0 {
		t.Errorf("a buffer of %d x %d", columns, rows)
	}
}
