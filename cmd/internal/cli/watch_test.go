package cli_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/cmd/internal/cli"
)

// TestRepeat: the first look is at once, an error ends it, and so does an
// interrupt, which is no error, even if a look fails of it.
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
		ctx, interrupt := context.WithTimeout(t.Context(), 90*time.Second)
		defer interrupt()
		for range 2 { // while it waits, and in a look
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
