package zonesim_test

import (
	"flag"
	"path/filepath"
	"testing"

	"ulnet/gossip/zone/zonesim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

var update = flag.Bool("update", false, "write the tables of docs/scenarios.md anew")

var document = filepath.Join("..", "..", "..", "docs", "scenarios.md")

// TestDocumentExample: the example of zones in docs/scenarios.md runs, and passes.
func TestDocumentExample(t *testing.T) {
	example := scenariotest.Example(t, document, "zone")
	for seed := range uint64(3) {
		scenariotest.Holds(t, scenariotest.Run(t, parse(t, example), scenario.Options{Seed: &seed}))
	}
}

// TestDocumentTables: the tables of docs/scenarios.md list the options, verbs and conditions of
// the protocol. -update writes them.
func TestDocumentTables(t *testing.T) { scenariotest.Tables(t, document, zonesim.Protocol, *update) }
