package rmcastsim_test

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
	"ulnet/scoll/rmcast/rmcastsim"
)

func parse(t *testing.T, text string) *scenario.File {
	t.Helper()
	return scenariotest.Parse(t, rmcastsim.Protocol, text)
}

// levels runs a scenario at both levels, for some seeds.
func levels(t *testing.T, text string, seeds int) {
	t.Helper()
	f := parse(t, text)
	for _, level := range rmcastsim.Protocol.Levels {
		for seed := range uint64(seeds) {
			t.Run(level.String(), func(t *testing.T) {
				scenariotest.Holds(t, scenariotest.Run(t, f, scenario.Options{Seed: &seed, Level: level}))
			})
		}
	}
}

const always = `
always proven
always once
always failed-right
always lost-right
always bounded
expect idle
`

// TestTraffic: RM-2, RM-9, RM-15, RM-16, RM-29: several sources send while other nodes join and leave and
// datagrams are lost. All messages of members reach all members.
func TestTraffic(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-9", "RM-15", "RM-16", "RM-29")
	levels(t, `protocol rmcast
nodes 12
run 15s
check every 50ms
link latency 500µs±200µs
set members 1-8
set loss 2%
set fifo on
expect members 1-8 by 2s
at 2s do 1-4 send 200 1500
at 2.1s do 9 join
at 2.15s do 5 leave
at 2.2s do 5 send
expect lost 5 within 10ms
at 2.25s do 10-12 join
at 2.3s do 9 send 50 6000
at 3s do 6 leave
expect members 1-4,7-12 within 11s
at 14s do 12 send
expect delivered 1-4,7-12 within 20ms
expect released 12
expect over
`+always, 2)
}

// TestLeaveUnfinished: RM-A11: a member leaves while a message of another one waits for a
// paused node. The member is gone after LeaveAfter, and the message is released later.
func TestLeaveUnfinished(t *testing.T) {
	spec.Covers(t, "RM-A11")
	levels(t, `protocol rmcast
nodes 4
run 30s
check every 50ms
link latency 500µs
expect members all by 2s
at 3s pause 3 for 15s
at 3.001s do 1 send
at 4s do 4 leave
never over from 4s to 17.9s
expect members 1-3 within 16s
expect released within 16s
expect over
`+always, 2)
}

// TestDeaths: RM-28, RM-A8: members die, are paused and come back, and messages do not wait
// for dead ones.
func TestDeaths(t *testing.T) {
	spec.Covers(t, "RM-28", "RM-A8")
	levels(t, `protocol rmcast
nodes 16
run 25s
check every 50ms
link latency 500µs
set discovery 200ms
expect members all by 2s
at 3s crash 9
at 3s do 2 send 1 1000
expect failed 9 within 300ms
at 4s crash 3
at 4.001s do 4-6 send 5 5000
expect over within 500ms
at 5s restart 9
at 6s restart 3
expect members all within 2s
at 9s do 3 send
expect failed within 20ms
at 10s pause 4 for 1s
at 10s do 2 send 20 100
never over from 10s to 10.9s
expect over by 11.2s
at 12s do 2 send 100 2000
at 12.001s kill 2
expect over within 1ms
at 14s do 16 send
expect failed within 50ms
`+always, 2)
}
