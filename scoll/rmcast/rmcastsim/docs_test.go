package rmcastsim_test

import (
	"flag"
	"path/filepath"
	"testing"

	"ulnet/lnd/sim/scenario/scenariotest"
	"ulnet/scoll/rmcast/rmcastsim"
)

var update = flag.Bool("update", false, "write the tables of docs/scenarios.md anew")

var document = filepath.Join("..", "..", "..", "docs", "scenarios.md")

// TestDocumentExample: the examples of reliable multicast in docs/scenarios.md run and pass.
func TestDocumentExample(t *testing.T) {
	levels(t, scenariotest.Example(t, document, "rmcast"), 3)
}

// TestDocumentTables: the tables of docs/scenarios.md match the protocol. -update rewrites
// them.
func TestDocumentTables(t *testing.T) { scenariotest.Tables(t, document, rmcastsim.Protocol, *update) }
