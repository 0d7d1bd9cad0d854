package scollsim_test

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
	"ulnet/scoll/scollsim"
)

func parse(t *testing.T, text string) *scenario.File {
	t.Helper()
	return scenariotest.Parse(t, scollsim.Protocol, text)
}

// levels runs a scenario at both levels, for some seeds.
func levels(t *testing.T, text string, seeds int) {
	t.Helper()
	f := parse(t, text)
	for _, level := range []scenario.Level{scenario.Machines, scenario.Stacks} {
		for seed := range uint64(seeds) {
			t.Run(level.String(), func(t *testing.T) {
				scenariotest.Holds(t, scenariotest.Run(t, f, scenario.Options{Seed: &seed, Level: level}))
			})
		}
	}
}

const always = `
always exact
always missing-right
always once
always in-time
always intact
always history
`

// TestServices: SC-3, SC-A27, SC-A28: after a fault of a service its node, or its subtree, is
// missing with the reason.
func TestServices(t *testing.T) {
	spec.Covers(t, "SC-3", "SC-A27", "SC-A28")
	levels(t, `protocol scoll
nodes 16
run 12s
link latency 1ms±500µs
set rtt 4ms
set history on
at 0s do 1 create g delayed
at 100ms do 1 broadcast g all 0s 0 1000
expect reached-all g within 100ms
at 1s do 9 service mute
at 1s do 1 broadcast g
expect unreached 9 timed-out within 100ms
at 2s do 9 service slow 500ms
at 2s do 1 broadcast g
expect unreached 9 timed-out within 100ms
at 3s do 1 broadcast g all 600ms
expect reached-all within 800ms
at 4s do 9 service rejects
at 4s do 1 broadcast g
expect unreached 9-16 rejected within 100ms
at 5s do 9 service fails
at 5s do 1 broadcast g
expect unreached 9 failed within 100ms
at 6s do 9 service works
at 6s do 1 broadcast g all 0s 100000
expect reached-all within 200ms
at 7s do 5 broadcast g
expect reached-all within 200ms
at 8s do 1 broadcast g last
expect reached-all within 200ms
expect knows 0 within 100ms
at 9s do 1 broadcast g
expect not-sent within 1ms
at 10s do 5 create o oob 5-16
at 10s do 2 broadcast o
expect not-sent within 1ms
at 11s do 5 broadcast o
expect reached-all o within 100ms
expect over
`+always, 2)
}

// TestDeaths: SC-130, SC-137, SC-97, SC-101: after a death a broadcast to all is refused, one to the live
// members reaches them, and one that is under way ends as soon as discovery reports the death.
func TestDeaths(t *testing.T) {
	spec.Covers(t, "SC-97", "SC-101", "SC-130", "SC-137")
	levels(t, `protocol scoll
nodes 16
run 30s
link latency 1ms±200µs
set rtt 4ms
set discovery 200ms
set history on
at 0s do 1 create g immediate
expect created g within 1s
at 2s crash 13
at 2.3s do 1 broadcast g
expect not-sent dead within 1ms
at 2.4s do 1 broadcast g live
expect reached-all within 200ms
at 5s restart 13
at 6s do 1 broadcast g live # on stacks lost: the connection is to an earlier life
at 7s do 1 broadcast g live
expect reached-all within 3s
at 10s crash 9
at 10.001s do 1 broadcast g all 10s
expect unreached 9-16 dead within 300ms
expect over
at 15s restart 9
at 20s kill 1
expect knows 0 2-16 within 300ms
`+always, 2)
}
