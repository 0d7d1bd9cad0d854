package handlers

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/cmd/internal/program"
	"ulnet/lnd/lndtest/spec"
)

// TestWaitInTime: OP-93: Wait does not wait beyond the end of its context for a program that no signal ends,
// and its error names the program's handler, even if that handler has been removed.
func TestWaitInTime(t *testing.T) {
	spec.Covers(t, "OP-93")
	for _, removed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { waitInTime(t, removed) })
	}
}

func waitInTime(t *testing.T, removed bool) {
	stuck := make(chan struct{})
	run := func(context.Context, *program.Run) (program.Result, error) {
		<-stuck
		return program.Result{}, nil
	}
	other := Handler{Name: "other", Selects: func(string) bool { return false }, Program: []string{"p"}}
	s := start(Config{Log: slog.New(slog.DiscardHandler), Handlers: []Handler{{Name: "stuck", Selects: all, Program: []string{"p"}}, other}}, run)
	s.Tell("e", 1)
	synctest.Wait()
	if removed {
		s.Replace([]Handler{other}, all)
	}
	s.End()
	ctx, cancel := context.WithTimeout(t.Context(), Grace)
	defer cancel()
	began := time.Now()
	err := s.Wait(ctx)
	if took := time.Since(began); took != Grace || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "stuck") || strings.Contains(err.Error(), "other") {
		t.Errorf("after %v: %v", took, err)
	}
	close(stuck)
	if err := s.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}
