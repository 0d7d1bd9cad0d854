package rmcastsim_test

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
)

// TestPartitions: RM-2, RM-A9, RM-A18: there are partitions of all kinds between managers and
// members. When a message is released, every member of its version has delivered it once, or
// its origin learns which members may be alive without it. All messages end. When the network
// is whole again, the group is whole too.
func TestPartitions(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-A9", "RM-A18")
	plans(t, scenario.Machines, 10, 60, 10_000, drawPartitions)
	plans(t, scenario.Stacks, 2, 8, 500, drawPartitions)
}

// TestStandbyCutOff: RM-A9, RM-A18: a manager on standby that is cut off for 15 s does not
// take over from the manager that most members hear. Messages in flight wait, none is lost,
// and no member has to join again.
func TestStandbyCutOff(t *testing.T) {
	spec.Covers(t, "RM-A9", "RM-A18")
	levels(t, `protocol rmcast
nodes 8
run 60s
check every 50ms
link latency 500µs
set managers 2
set discovery 0s
set fifo on
set window 64
expect members all by 3s
at 5s partition 2 | 1,3-8
at 6s do 1-8 send 48 100
at 20s heal
expect released within 5s
expect manager 1 within 5s
expect members all within 5s
at 40s do 1-8 send
expect released within 1s
`+always+"expect over\n", 2)
}

// TestPartitionsWithGossip: RM-2, RM-A18: as TestPartitions, and managers hear of deaths as gossip
// reports them. So members on the other side of a partition seem to die, one after the other.
func TestPartitionsWithGossip(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-A18")
	plans(t, scenario.Machines, 10, 60, 10_000, drawPartitionsWithGossip)
	plans(t, scenario.Stacks, 2, 8, 500, drawPartitionsWithGossip)
}

// TestPauses: RM-2, RM-A9, RM-A18: managers and members stop and go on, alone and together, and gossip meanwhile reports
// them as dead. Members that did not stop themselves are not left behind because a manager did.
func TestPauses(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-A9", "RM-A18")
	plans(t, scenario.Machines, 10, 60, 10_000, drawPauses)
	plans(t, scenario.Stacks, 2, 8, 500, drawPauses)
}

// TestMinorityHearsDeaths: RM-2, RM-A18: the active manager, or one on standby, is in a minority, and hears that
// the members of the majority have died, one after the other. Nothing is released in the minority. In the
// majority the messages end without an error, since gossip is certain there.
func TestMinorityHearsDeaths(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-A18")
	for _, sides := range []string{"1,4 | 2,3,5", "2,4 | 1,3,5"} {
		levels(t, `protocol rmcast
nodes 5
run 60s
check every 50ms
link latency 500µs
set managers 2
set discovery 2s
set gossip on
expect members all by 3s
at 5s partition `+sides+`
at 5.1s do 3 send
at 5.1s do 4 send
expect released 3 within 8s
never released 4 from 5.1s to 20s
at 15s do 4 send
at 15s do 3 send
expect released 3 within 50ms
at 20s heal
expect lost 4 within 15s
expect whole within 20s
at 50s do 1-5 send
expect over within 1s
expect success-right
`+always, 2)
	}
}

// TestSmallerGroupJoinsAgain: RM-A18: both managers die while all members stand still. One manager comes back and begins a group
// with two nodes. Then the five members of the earlier list are heard again, and go on; the two join them as new members. A
// message of theirs that was in flight ends with ErrExpelled.
func TestSmallerGroupJoinsAgain(t *testing.T) {
	spec.Covers(t, "RM-A18")
	levels(t, `protocol rmcast
nodes 9
run 60s
check every 50ms
link latency 500µs
set managers 2
set members 3-7
set discovery 0s
expect members 3-7 by 3s
at 5s crash 1,2
at 5s pause 3-7 for 5s
at 6s restart 1
at 6.2s do 8-9 join
expect members 8-9 by 9s
at 9s cut 9 -> 8
at 9.1s do 8 send
at 12s heal
expect lost 8 within 4s
at 20s restart 2
expect members 3-9 within 20s
`+always, 2)
}
