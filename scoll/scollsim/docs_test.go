package scollsim_test

import (
	"flag"
	"path/filepath"
	"testing"

	"ulnet/lnd/sim/scenario/scenariotest"
	"ulnet/scoll/scollsim"
)

var update = flag.Bool("update", false, "write the tables of docs/scenarios.md anew")

var document = filepath.Join("..", "..", "docs", "scenarios.md")

// TestDocumentExample: the example of collectives in docs/scenarios.md runs and passes.
func TestDocumentExample(t *testing.T) {
	example := scenariotest.Example(t, document, "scoll")
	levels(t, example, 3)
}

// TestDocumentTables: the tables of docs/scenarios.md list what the protocol understands. The
// flag -update rewrites them.
func TestDocumentTables(t *testing.T) { scenariotest.Tables(t, document, scollsim.Protocol, *update) }
