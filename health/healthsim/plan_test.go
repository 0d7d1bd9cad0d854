package healthsim_test

import (
	"fmt"
	"testing"
	"time"

	"ulnet/health/healthsim"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/sim/scenario/scenariotest"
)

// TestMildPlans: goal G-CH-3, CH-33, CH-35, CH-63, CH-66, CH-67: faults of all kinds that the
// goal names occur. No healthy client is evicted, and in the end all are connected and the
// servers agree.
func TestMildPlans(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-35", "CH-63", "CH-66", "CH-67", "G-CH-3")
	count := effort.Seeds(60, 150, 10_000)
	p, err := kit.RunPlans(t.Context(), healthsim.Protocol, scenario.Machines, 1, count, healthsim.MildPlan)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := p.Sum["false evictions"]; len(p.Failed) > 0 || wrong > 0 || p.Sum["evictions by all"] > 0 || p.Runs != count {
		t.Errorf("%d of %d plans fail, with seeds %v, %v clients were evicted without a cause; first: %v", len(p.Failed), p.Runs, p.Failed, wrong, p.First)
	}
	if masters := int(p.Sum["masters lost"]); masters < p.Runs {
		t.Errorf("only %d masters were lost in %d plans", masters, p.Runs)
	}
}

// TestWildPlans: CH-33, CH-61, CH-63: servers, clients and links have faults of all kinds. Some
// time after the last fault, each running client is connected, and its servers agree about it.
// No server has a client that has ended, or an incarnation that was evicted from all servers.
func TestWildPlans(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-61", "CH-63")
	count := effort.Seeds(30, 60, 10_000)
	evicted := scenariotest.Plans(t, healthsim.Protocol, scenario.Machines, count, healthsim.WildPlan, "evictions by all")
	if evicted < count/10 {
		t.Errorf("clients were evicted in %d of %d plans only", evicted, count)
	}
}

// TestMostPlans: CH-33, CH-63, CH-66, goal G-CH-3: half of the servers or more die and come back with their
// records, or die again soon after, so that the quorum is there for short times only. No client is evicted
// that ran and reached the servers, and in the end all are connected.
func TestMostPlans(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-63", "CH-66", "G-CH-3")
	count := effort.Seeds(40, 100, 10_000)
	scenariotest.Plans(t, healthsim.Protocol, scenario.Machines, count, healthsim.MostPlan, "masters lost")
}

// TestReachPlans: CH-33, CH-16, CH-63, goal G-CH-3: clients are cut off from their masters, or other servers, for up to a
// minute, beside the faults of mild plans, with slow discovery and slow disks. None is evicted.
func TestReachPlans(t *testing.T) {
	spec.Covers(t, "CH-16", "CH-33", "CH-63", "G-CH-3")
	count := effort.Seeds(30, 100, 10_000)
	scenariotest.Plans(t, healthsim.Protocol, scenario.Machines, count, healthsim.ReachPlan, "")
}

// TestFoundPlans: CH-33, CH-A8: plans that failed once pass now. The text of each says which defect of the protocol, of
// the checker or of the documents it has revealed.
func TestFoundPlans(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A8")
	for _, p := range []struct {
		level scenario.Level
		draw  func(uint64) string
		seed  uint64
		why   string
	}{
		{scenario.Machines, healthsim.MostPlan, 950326, "a late copy of an eviction that others had refuted, and its master had not withdrawn, left a tombstone at one server"},
		{scenario.Machines, healthsim.WildPlan, 903157, "a server whose question for tombstones was lost had to know them: the checker was wrong"},
		{scenario.Machines, healthsim.MostPlan, 5749, "servers evicted an orphan just after another had come back and asked, and that had to know: this limit was not written down"},
		{scenario.Machines, healthsim.WildPlan, 1870, "a master died while it evicted a client, and the server that it had not told had to know: this limit was not written down"},
		{scenario.Machines, healthsim.WildPlan, 6115, "a master stood still while it evicted a client, and the server that it had not told had to know: this limit was not written down"},
		{scenario.Machines, healthsim.WildPlan, 902132, "other programs of a client's node went on sending, and a server was to drop the client's earlier incarnation as fast as if they did not: the checker was wrong"},
		{scenario.Machines, healthsim.WildPlan, 4810, "after a cut two answers in a row were lost, and the client was not to drop the server: the checker was wrong"},
		{scenario.Machines, healthsim.WildPlan, 559, "a master obeyed another one's eviction, and did not withdraw its own when others named a still later choice"},
		{scenario.Machines, healthsim.ReachPlan, 107, "a master asked a client again and again whose answers it did not get, and the client took that for a sign that all was well"},
		{scenario.Stacks, healthsim.WildPlan, 445, "a server that no other heard for longer than T_q missed the withdrawal of an eviction, and told its tombstone to the master that had withdrawn it"},
		{scenario.Stacks, healthsim.MildPlan, 82, "a server that no other heard was not to lose its quorum: the checker was wrong"},
		{scenario.Stacks, healthsim.WildPlan, 816, "one of four servers died and another one heard no server, and the others were not to lose their quorum: the checker was wrong"},
	} {
		if _, err := kit.RunPlan(t.Context(), healthsim.Protocol, p.level, p.draw(p.seed), p.seed); err != nil {
			t.Errorf("%s: %v", p.why, err)
		}
	}
}

// TestPlansOnStacks: goal G-CH-3, CH-33: mild and wild plans also pass on whole stacks, with
// gossip and collectives.
func TestPlansOnStacks(t *testing.T) {
	spec.Covers(t, "CH-33", "G-CH-3")
	for _, draw := range []func(uint64) string{healthsim.MildPlan, healthsim.WildPlan} {
		scenariotest.Plans(t, healthsim.Protocol, scenario.Stacks, effort.Seeds(2, 4, 1000), draw, "")
	}
}

const pause = `protocol health
nodes 25
run %v
set servers 5
boot 6-25 at 2s
link latency 1ms±500µs reorder 5%% duplicate 2%%
check every 1s
at 20s pause %s for %v
expect settled
expect uniform
always no-false-eviction
%s
`

// TestPauses: CH-16, CH-35, CH-67, CH-A16, CH-A19, goal G-CH-3: processes are paused for a time
// between a second and twice T_evict, in small steps. A pause of one or two masters evicts no
// client. A client is not evicted if its pause is shorter than T_evict less a ping interval. If
// it is longer than T_evict and a tick, the client is evicted once, and connects again by
// itself.
func TestPauses(t *testing.T) {
	spec.Covers(t, "CH-16", "CH-35", "CH-67", "CH-A16", "CH-A19", "G-CH-3")
	step := effort.Of(2*time.Second, time.Second, 250*time.Millisecond)
	for d := time.Second; d <= 35*time.Second; d += step {
		clients := ""
		switch {
		case d <= 12500*time.Millisecond:
			clients = "expect evicted 6-25 0"
		case d >= 19*time.Second:
			clients = "expect evicted 6-8 1\nexpect evicted 9-25 0"
		}
		for who, expect := range map[string]string{ // any order: the cases are independent
			"1": "expect evicted 6-25 0", "2-3": "expect evicted 6-25 0", "6-8": clients, "1,6": "",
		} {
			text := fmt.Sprintf(pause, 20*time.Second+d+90*time.Second, who, d, expect)
			seed := uint64(d)
			if res := scenariotest.Run(t, parse(t, text), scenario.Options{Seed: &seed}); !res.OK() {
				scenariotest.Holds(t, res)
				t.Fatalf("%s", text)
			}
		}
	}
}
