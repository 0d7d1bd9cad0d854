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

// TestDocumentExample: what docs/scenarios.md shows of zones runs, and passes.
func TestDocumentExample(t *testing.T) {
	example := scenariotest.Example(t, document, "zone")
	for seed := range uint64(3) {
		scenariotest.Holds(t, scenariotest.Run(t, parse(t, example), scenario.Options{Seed: &seed}))
	}
}

// TestDocumentTables: the tables of docs/scenarios.md are what the protocol
// understands. -update writes them anew.
func TestDocumentTables(t *testing.T) { scenariotest.Tables(t, document, zonesim.Protocol, *update) }
