package zonesim_test

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

// holds runs a scenario with several seeds, and fails the test if an expectation of the scenario does not
// hold.
func holds(t *testing.T, text string) {
	t.Helper()
	for seed := range uint64(3) {
		scenariotest.Holds(t, scenariotest.Run(t, parse(t, text), scenario.Options{Seed: &seed}))
	}
}

const liars = `protocol zone
nodes 64
run 40s
set check on
link latency 1ms±500µs
expect views-right by 2s
`

// TestForgedSuspicions: MS-A1, MS-A2: a node that accuses all others counts as one accuser, however
// often it accuses them and in whose name, and each accused node refutes the suspicion. Θ accusers together
// may cause removals, but only for a moment.
func TestForgedSuspicions(t *testing.T) {
	spec.Covers(t, "MS-A1", "MS-A2")
	holds(t, liars+`every 1s from 5s to 25s do 7 accuse all
at 5s do 7 set said much
expect attribute 7 said much within 2s
every 100ms from 7s to 25s do 7 frame 30 8-9
every 1s from 7.05s to 25s do 7 frame 31 8-9 1
always members 64 from 3s to 30s
always no-false-removal from 0s to 30s
at 30s do 8-12 accuse all
expect views-right within 5s
always alternating
expect views-right
expect bytes < 90000000
`)
}

// TestForgedLeaves: MS-A3, MS-A33: a node refutes a goodbye that it did not say, before others remove it; a forged
// goodbye of an earlier incarnation has no effect.
func TestForgedLeaves(t *testing.T) {
	spec.Covers(t, "MS-A3", "MS-A33")
	holds(t, liars+`at 4s do 20-24 leave 3
at 4.1s kill 20-24
at 6s restart 20-24
expect views-right within 2s
every 1s from 10s to 20s do 7 replay 20-24
every 100ms from 26s to 36s do 7 bury 30
every 1s from 26s to 36s do 7 bury 31 1
always members 64 from 8s to 40s
always no-false-removal
always alternating
expect views-right
`)
}

// TestExaltedVersions: MS-A2: versions that their owner could not refute are refused.
func TestExaltedVersions(t *testing.T) {
	spec.Covers(t, "MS-A2")
	holds(t, liars+`every 1s from 5s to 25s do 7 exalt all
always members 64 from 3s to 26s
always alternating
at 27s kill 30
expect removed 30 within 2s
at 29s restart 30
expect views-right within 2s
`)
}

// TestDisagreement: MS-A9, MS-63: if the hashes never agree, the exchanges that repair views
// become rare.
func TestDisagreement(t *testing.T) {
	spec.Covers(t, "MS-63", "MS-A9")
	holds(t, `protocol zone
nodes 32
run 10m
set check on
link latency 1ms±500µs
check every 1s
at 5s do 7 disagree on
expect repairs > 3 at 1m
expect repairs < 200 at 5m
expect repairs < 280
always no-false-removal
always alternating
expect views-right
`)
}

// TestOneName: two base zones with one name stay two complete zones, and supervisors agree on
// one of them.
func TestOneName(t *testing.T) {
	holds(t, `protocol zone
nodes 28
run 60s
set supervisors 4
set zones 2
set names same
set check on
link latency 1ms±500µs
expect views-right by 3s
always members 12 5-28 from 3s to 30s
expect census-least = 12 by 5s
always census-least = 12 from 5s to 30s
at 30s kill 5
expect removed 5 within 2s
always members 12 17-28 from 32s
always no-false-removal
always alternating
`)
}
