package lnetsim

import (
	"fmt"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

// TestOthers: whatever is wrong with one node, no operation between others fails, neither on its net nor beyond the only router of
// three nets.
func TestOthers(t *testing.T) {
	spec.Covers(t, "LS-8")
	t.Parallel()
	const nodes, victim = 8, 3 // with a router, which is node 1, nodes 2 to 4 are on one net
	for name, fault := range map[string]string{
		"dead":      "at 3s crash 3",
		"ended":     "at 3s kill 3",
		"restarted": "at 3s crash 3\nat 5s restart 3\nat 6s kill 3\nat 9s restart 3",
		"left":      "at 3s do 3 leave\nat 3.001s kill 3",
		"stuck":     "at 3s pause 3",
		"silent":    "at 3s do 3 sever 1",
		"unplugged": "at 3s do 3 unplug 1",
		"deaf":      "at 3s cut all -> 3",
		"mute":      "at 3s cut 3 -> all",
	} {
		for _, nets := range []string{"set nets 1", "set nets 3\nset routers 1"} {
			t.Run(name+", "+strings.ReplaceAll(nets, "\n", ", "), func(t *testing.T) {
				text := fmt.Sprintf("protocol lnet\nnodes %d\nrun 24s\ncheck every 1s\nlink latency 1ms±0.5ms\nset rate 4\nset timeout 2s\nset check-interval 2s\n%s\n%s\n", nodes, nets, fault)
				for i := range nodes * nodes {
					if from, to := i/nodes+1, i%nodes+1; from != to && from != victim && to != victim {
						text += fmt.Sprintf("expect failed-operations 0 %d %d\n", from, to)
					}
				}
				for seed := range uint64(effort.Seeds(1, 2, 50)) {
					if _, err := kit.RunPlan(t.Context(), Protocol, scenario.Stacks, text, seed); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}
