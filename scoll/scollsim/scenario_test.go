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

// TestDestroyGroup: SC-84: a group that is destroyed has ended on all members, and none of them can send over it.
// While a broadcast is under way the group cannot be destroyed.
func TestDestroyGroup(t *testing.T) {
	spec.Covers(t, "SC-84")
	levels(t, `protocol scoll
nodes 16
run 8s
link latency 1ms±500µs
set rtt 4ms
set history on
at 0s do 1 create g delayed
at 1s do 9 service slow 200ms
at 1s do 1 broadcast g all 300ms
at 1.1s do 1 destroy g
never gone g from 1.1s to 3s
never idle from 1.1s to 1.15s
at 3s do 1 destroy g
expect gone g within 100ms
expect knows 0 within 100ms
at 4s do 1 broadcast g
expect not-sent no-group within 1ms
at 5s do 9 broadcast g
expect not-sent no-group within 1ms
expect over
expect idle
`+always, 2)
}

// TestListChanges: SC-93: the list of an out-of-band group changes at all nodes at once. Broadcasts go to the new
// members from then on, and a node that is no member any more cannot send.
func TestListChanges(t *testing.T) {
	spec.Covers(t, "SC-93")
	levels(t, `protocol scoll
nodes 16
run 6s
link latency 1ms±500µs
set rtt 4ms
set history on
at 0s do 1 create g oob
at 1s do 1 broadcast g
expect reached-all within 100ms
at 2s do 1 list g 3-9
at 2s do 3 broadcast g
expect reached-all within 100ms
at 3s do 1 broadcast g
expect not-sent within 1ms
at 4s do 5 broadcast g
at 4.0005s do 5 list g all # members that the request reaches later have another list
expect over within 100ms
at 5s do 5 broadcast g
expect reached-all within 100ms
expect idle
`+always, 2)
}

// TestStuckIsKept: requests of a service that does not return stay, and no others.
func TestStuckIsKept(t *testing.T) {
	levels(t, `protocol scoll
nodes 8
run 4s
link latency 1ms
set rtt 4ms
set history on
at 0s do 1 create g delayed
at 1s do 5 service stuck
at 1s do 1 broadcast g
expect unreached 5 timed-out within 100ms
at 2s kill 1
expect idle
`+always, 1)
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
