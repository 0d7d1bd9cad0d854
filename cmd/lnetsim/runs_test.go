package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/sim/scenario"
)

// TestInterrupted: the interruption of many runs is reported once.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	seed := uint64(1)
	_, err := runMany(ctx, testFile(t), scenario.Options{Seed: &seed}, 5, 2, newBar(io.Discard, 5))
	if err := explain(err); !errors.Is(err, errInterrupted) {
		t.Errorf("%v, want %v", err, errInterrupted)
	}
}

// TestFirstError: if one of many runs fails, its error is reported, not those of the runs that
// were stopped because of it.
func TestFirstError(t *testing.T) {
	broken, stopped := errors.New("broken"), fmt.Errorf("run: %w", context.Canceled)
	if err := firstError([]error{nil, stopped, broken}, context.Canceled); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	if err := firstError([]error{nil, nil}, nil); err != nil {
		t.Errorf("%v, want none", err)
	}
}

// TestExplain: if there is not enough memory, the error names the options that help.
func TestExplain(t *testing.T) {
	err := explain(&scenario.MemoryError{Nodes: 10, Need: 2, Limit: 1})
	if cli.HintOf(err) != "or allow it more with --memory" {
		t.Errorf("%v with hint %q", err, cli.HintOf(err))
	}
}
