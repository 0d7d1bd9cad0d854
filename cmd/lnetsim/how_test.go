package main

import (
	"fmt"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/sim"
)

// TestExplainPanic: the explanation of a panic shows where it happened.
func TestExplainPanic(t *testing.T) {
	cause := &sim.ContractError{Why: "the program panicked: oops", Panic: "oops", Stack: []byte("goroutine 1:\nfile.go:17\n")}
	err := explain(fmt.Errorf("my.sim: seed 4: %w", cause))
	if !strings.Contains(cli.HintOf(err), "file.go:17") || !strings.HasPrefix(err.Error(), "my.sim: seed 4: step ") {
		t.Errorf("error %v, hint %q", err, cli.HintOf(err))
	}
}
