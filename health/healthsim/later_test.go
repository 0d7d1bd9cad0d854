package healthsim_test

import (
	"testing"

	"ulnet/health/healthsim"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

// laterIncarnation restarts all clients while their master is dead, and cuts them off until
// their later incarnations are evicted. In between, the old master comes back with the records
// of the earlier incarnations; it takes time to evict these, because broadcasts fail.
const laterIncarnation = `protocol health
nodes 19
run 130s
link latency 2ms±1ms
set servers 7
set attach all
set unsent 60%
boot 8-19 at 2s
check every 500ms
at 1s do 1,3-7 drain on
at 10s do 1,3-7 drain off
at 30s crash 2
at 32s kill 8-19
at 34s restart 8-19
at 50s partition 8-19
at 54s restart 2 keeping state
at 70s heal
expect settled
always uniform-most
`

// TestLaterIncarnation: CH-A9, CH-A20, goal G-CH-6: a server has an earlier incarnation of a
// client in its records. It does not accept a later incarnation that all other servers have
// evicted.
func TestLaterIncarnation(t *testing.T) {
	spec.Covers(t, "CH-A20", "CH-A9", "G-CH-6")
	for seed := range uint64(10) {
		if _, err := kit.RunPlan(t.Context(), healthsim.Protocol, scenario.Machines, laterIncarnation, seed); err != nil {
			t.Fatal(err)
		}
	}
}
