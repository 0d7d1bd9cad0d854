package healthsim_test

import (
	"fmt"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

// run runs a scenario, and fails the test if the scenario fails.
func run(t *testing.T, text string, seed uint64) *scenario.Result {
	t.Helper()
	res := scenariotest.Run(t, parse(t, text), scenario.Options{Seed: &seed, SampleEvery: -1})
	scenariotest.Holds(t, res)
	return res
}

// manyServers is the beginning of a scenario: clients start one after the other within 5 s, and
// have a master after 17 s. It is a format for the number of nodes, the length, the number of
// servers, and the option attach.
const manyServers = `protocol health
nodes %[1]d
run %[2]v
link latency 1ms±500µs
set servers %[3]d
set attach %[4]s
set store 0s
boot over 5s
boot 1-%[3]d at 0s
expect settled by 17s
`

// TestEviction: CH-2, CH-26 and goal G-CH-2: there are 100 servers or more, and 40 clients die one
// after the other. All servers have evicted a dead client at most 19 s after its last message:
// T_evict, and 1.5 s to collect evictions and to broadcast them. The last server evicts it at most
// 100 ms after the first one.
func TestEviction(t *testing.T) {
	spec.Covers(t, "CH-2", "CH-26", "G-CH-2")
	servers := effort.Of(100, 100, 1000)
	res := run(t, fmt.Sprintf(manyServers+"every 125ms from 17s to 21900ms crash any 1 of %[5]d-%[1]d\nexpect settled within 24s", servers+50, 46*time.Second, servers, "all", servers+1), 1)
	latest, skew := res.Measure("evicted last after its last word"), res.Measure("between first and last server")
	if latest > 19_000 || latest < 17_500 || skew > 100 || skew == 0 || res.Measure("evicted: timed out") != float64(40*servers) {
		t.Errorf("%+v", res.Measures)
	}
}

// TestMassEviction: CH-27, CH-A10: ten thousand clients die at the same time, and all servers
// have evicted them within two seconds after T_evict.
func TestMassEviction(t *testing.T) {
	spec.Covers(t, "CH-27", "CH-A10")
	res := run(t, fmt.Sprintf(manyServers+"at 17s crash 6-%[1]d\nexpect forgotten 6-%[1]d within 22500ms", 10_005, 40*time.Second, 5, "0"), 1)
	if res.Measure("evicted last after its last word") > 19_500 || res.Measure("broadcasts") > 5*(10_000/5/100+8) || res.Measure("evicted: timed out") < 10_000 {
		t.Errorf("%+v", res.Measures)
	}
}

// TestRehoming: CH-16 and goal G-CH-4: 95 % of the clients of a dead master have another master
// within T_client, and no client is evicted.
func TestRehoming(t *testing.T) {
	spec.Covers(t, "CH-16", "G-CH-4")
	timing, err := health.Timing{}.Filled()
	if err != nil {
		t.Fatal(err)
	}
	res := run(t, fmt.Sprintf(manyServers+"at 17s crash 4\nexpect settled", 2010, time.Minute, 10, "all"), 3)
	within := time.Duration(res.Measure("until 95 % of these had") * 1e6)
	if found := res.Measure("clients of dead masters that found another"); found < 100 || within > timing.Client+12*time.Millisecond || res.Measure("evictions by all") != 0 {
		t.Errorf("bound %v: %+v", timing.Client, res.Measures)
	}
}
