package main

import (
	"context"
	"errors"
	"testing"
)

// TestFailureEndsMeasurement: the first error ends a measurement, even within an expression, and
// so does the end of its context. The measurement does not recover from other panics.
func TestFailureEndsMeasurement(t *testing.T) {
	broken := errors.New("broken")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name string
		ctx  context.Context
		ends func(b *measurement)
		want error
	}{
		{"check", t.Context(), func(b *measurement) { b.check(broken) }, broken},
		{"must", t.Context(), func(b *measurement) { b.add(must(line{}, broken)) }, broken},
		{"must2", t.Context(), func(*measurement) { must2(1, 2, broken) }, broken},
		{"the context", ended, func(b *measurement) { b.check(nil) }, context.Canceled},
	} {
		lines, err := new(bench).measure(test.ctx, func(b *measurement) {
			b.add(line{what: "before"})
			test.ends(b)
			t.Errorf("%s: the measurement goes on", test.name)
		})
		if !errors.Is(err, test.want) || lines != nil {
			t.Errorf("%s: %v, %v", test.name, lines, err)
		}
	}
	lines, err := new(bench).measure(t.Context(), func(b *measurement) { b.add(line{what: "a"}, line{what: "b"}) })
	if err != nil || len(lines) != 2 {
		t.Errorf("%v, %v", lines, err)
	}
	defer func() {
		if got := recover(); got != broken {
			t.Errorf("the panic became %v", got)
		}
	}()
	_, _ = new(bench).measure(t.Context(), func(*measurement) { panic(broken) })
}
