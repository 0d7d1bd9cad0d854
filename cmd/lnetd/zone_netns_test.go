//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/netlab"
)

const (
	zoneSupervisors = 4
	zoneSize        = 10 // of two base zones
	zoneNodes       = zoneSupervisors + 2*zoneSize
	// zoneBound is what a machine with few cores may take to see a change: detection
	// takes 3.5 heartbeats of 500 ms where no connection tells, and telling everybody
	// some aggregation periods of 200 ms.
	zoneBound = 20 * time.Second
)

// censusEntry is what 'gossipctl zone census --json' says of a zone.
type censusEntry struct {
	Zone       string `json:"zone"`
	Size       int    `json:"size"`
	Activation uint64 `json:"activation"`
	Delegate   string `json:"delegate"`
	Supervisor string `json:"supervisor"`
}

func zoneID(i int) string { return fmt.Sprintf("n%d=10.1.0.%d@tcp", i+1, i+1) }

// zoneSettings is the configuration of a node: supervisors first, then two base zones.
func zoneSettings(i int) []string {
	settings := []string{
		"sock_timeout: 2", "min_reconnectms: 200", "max_reconnectms: 1000",
		"zone:", fmt.Sprintf("  node: n%d", i+1), "  heartbeat: 500ms",
	}
	management := "[" + zoneID(0) + "," + zoneID(1) + "," + zoneID(2) + "," + zoneID(3) + "]"
	if i < zoneSupervisors {
		return append(settings, "  name: management", "  role: supervisor", "  bootstrap: "+management)
	}
	k := (i - zoneSupervisors) / zoneSize
	first := zoneSupervisors + k*zoneSize
	return append(settings, fmt.Sprintf("  name: base%d", k), "  management: "+management,
		"  bootstrap: ["+zoneID(first)+", "+zoneID(first+1)+", "+zoneID(first+2)+"]")
}

// TestZonesOfDaemons: MS-95 to MS-100, MS-A24: 24 daemons in three zones, of which one
// is the management zone: the census is right at all supervisors, and again after the
// active delegate of a zone and then the supervisor of a zone were killed.
func TestZonesOfDaemons(t *testing.T) {
	if testing.Short() {
		t.Skip("starts 24 daemons; skipped by -short")
	}
	lab := netlab.New(t)
	room := lab.Switch("room")
	commands := lnetdtest.Build(t)
	daemons := make([]*lnetdtest.Daemon, zoneNodes)
	for i := range daemons {
		h := lab.Host(fmt.Sprintf("node %d", i+1))
		lab.Cable(h, fmt.Sprintf("10.1.0.%d/24", i+1), room, "")
		daemons[i] = commands.Start(t, lnetdtest.Config{Networks: "tcp(eth0)", Port: kernelPort, Within: h.Do, Settings: zoneSettings(i)})
	}
	dead := make(map[string]bool)
	await := func(what string, holds func([]censusEntry) bool) []censusEntry {
		t.Helper()
		began := time.Now()
		deadline := time.After(zoneBound)
		tick := time.NewTicker(askInterval)
		defer tick.Stop()
		var last []censusEntry
		for i := 0; i < zoneSupervisors; {
			if dead[zoneID(i)] {
				i++
				continue
			}
			out, err := daemons[i].Gossipctl(t.Context(), "zone", "census", "--json")
			last = nil
			if err == nil {
				err = json.Unmarshal([]byte(out), &last)
			}
			if err == nil && holds(last) {
				i++
				continue
			}
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("%s: not so at supervisor %d after %v: %v, %+v\n%s", what, i+1, zoneBound, err, last, daemons[i].Log())
			}
		}
		t.Logf("%s: after %v", what, time.Since(began).Round(time.Millisecond))
		return last
	}
	sizes := func(list []censusEntry, first, second int) bool {
		return len(list) == 2 && list[0].Size == first && list[1].Size == second
	}
	kill := func(id string) {
		var n int
		if _, err := fmt.Sscanf(id, "n%d=", &n); err != nil || n < 1 || n > zoneNodes || !strings.HasSuffix(id, "@tcp") {
			t.Fatalf("%q: %v", id, err)
		}
		daemons[n-1].Kill()
		dead[id] = true
	}

	census := await("all daemons", func(list []censusEntry) bool { return sizes(list, zoneSize, zoneSize) })
	delegate := census[1]
	kill(delegate.Delegate)
	census = await("a delegate", func(list []censusEntry) bool {
		return sizes(list, zoneSize, zoneSize-1) && list[1].Delegate != delegate.Delegate && list[1].Activation > delegate.Activation
	})
	supervisor := census[0].Supervisor
	kill(supervisor)
	await("a supervisor", func(list []censusEntry) bool {
		return sizes(list, zoneSize, zoneSize-1) && list[0].Supervisor != supervisor && list[1].Supervisor != supervisor
	})
}
