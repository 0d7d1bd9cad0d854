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
// and its error names the program's handler.
func TestWaitInTime(t *testing.T) {
	spec.Covers(t, "OP-93")
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		run := func(context.Context, *program.Run) (program.Result, error) {
			<-stuck
			return program.Result{}, nil
		}
		all := func(string) bool { return true }
		s := start(Config{Log: slog.New(slog.DiscardHandler), Handlers: []Handler{
			{Name: "stuck", Selects: all, Program: []string{"p"}},
			{Name: "other", Selects: func(string) bool { return false }, Program: []string{"p"}},
		}}, run)
		s.Tell("e", 1)
		synctest.Wait()
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
	})
}
