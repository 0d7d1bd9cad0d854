package main

import (
	"io"
	"syscall"
	"testing"

	"ulnet/lnet/selftest/console"
)

// fullDisk is an output that takes nothing.
type fullDisk struct{}

// Write implements io.Writer.
func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestUnwritable: reports that are repeated end when one of their lines cannot be written.
func TestUnwritable(t *testing.T) {
	stats, answers := &stat{targets: []*statTarget{{failed: 1}}}, make([]console.Answer, 1)
	for name, print := range map[string]func(io.Writer) error{
		"stat":        func(w io.Writer) error { return stats.lines(w, false) },
		"query":       func(w io.Writer) error { return (&query{g: new(globals)}).print(w, answers) },
		"query --all": func(w io.Writer) error { return (&query{g: new(globals), all: true}).print(w, answers) },
	} {
		if print(fullDisk{}) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
