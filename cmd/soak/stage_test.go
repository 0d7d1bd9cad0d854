package main

import (
	"errors"
	"slices"
	"testing"

	"ulnet/cmd/internal/cli"
)

func TestPerform(t *testing.T) {
	own := errors.New("own")
	tests := []struct {
		name string
		f    func(*stage) error
		want string
		hint bool
	}{
		{"success", func(*stage) error { return nil }, "", false},
		{"error", func(*stage) error { return own }, "own", false},
		{"lab fails", func(s *stage) error { s.Fatalf("host %d", 1); return nil }, "host 1", false},
		{"no lab here", func(s *stage) error { s.Skipf("no %s", "privilege"); return nil }, "no privilege", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var order []int
			err := perform(func(s *stage) error {
				s.Cleanup(func() { order = append(order, 1) })
				s.Cleanup(func() { order = append(order, 2) })
				return tt.f(s)
			})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want || (cli.HintOf(err) != "") != tt.hint {
				t.Errorf("got %q with hint %q", got, cli.HintOf(err))
			}
			if !slices.Equal(order, []int{2, 1}) {
				t.Errorf("cleaned up in order %v", order)
			}
		})
	}
}

func TestPerformLetsOurPanicsThrough(t *testing.T) {
	defer func() {
		if got := recover(); got != "bug" {
			t.Errorf("recovered %v", got)
		}
	}()
	_ = perform(func(*stage) error { panic("bug") })
}
