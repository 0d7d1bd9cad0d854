package healthsim_test

import (
	"flag"
	"path/filepath"
	"testing"

	"ulnet/health/healthsim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

var update = flag.Bool("update", false, "write the tables of docs/scenarios.md anew")

var document = filepath.Join("..", "..", "docs", "scenarios.md")

// TestDocumentExample: the example of client health in docs/scenarios.md runs, and passes.
func TestDocumentExample(t *testing.T) {
	example := scenariotest.Example(t, document, "health")
	scenariotest.Holds(t, scenariotest.Run(t, parse(t, example), scenario.Options{}))
}

// TestDocumentTables: the tables of docs/scenarios.md list the options, events and expectations
// of the protocol. The flag -update writes them.
func TestDocumentTables(t *testing.T) { scenariotest.Tables(t, document, healthsim.Protocol, *update) }
