//go:build linux

package main_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/control"
	zonemod "ulnet/cmd/internal/modules/zone"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/gossip/zone"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
)

const (
	cutRoomNodes = 12
	cutRoomLeft  = 4 // number of daemons on the smaller switch
	// cutLength is how long the cable is cut. Cuts of this length once led to hundreds of
	// removals in zones of 64 nodes.
	cutLength = 2600 * time.Millisecond
	// cutCalm is longer than a timeout and the grace period: after that time, all consequences of a
	// cut have been reported.
	cutCalm = 6 * time.Second
	cutRuns = 3
)

// TestZoneThroughShortCuts: goal G-MS-10, MS-1, MS-A7: twelve daemons are on two switches whose
// cable is cut for less than the timeout. No daemon removes another one on its own switch, and
// afterwards all daemons list all others again.
func TestZoneThroughShortCuts(t *testing.T) {
	spec.Covers(t, "MS-1", "MS-A7", "G-MS-10")
	if os.Getenv("ULNET_LONG") == "" {
		t.Skip("pulls a cable for seconds, several times: set ULNET_LONG=1")
	}
	onNetworks(t, func(t *testing.T, on network) {
		lab := netlab.New(t)
		left, right := lab.Switch("left"), lab.Switch("right")
		trunk := lab.Cable(left, "", right, "")
		commands := lnetdtest.Build(t)
		var daemons []*lnetdtest.Daemon
		id := func(i int) string { return fmt.Sprintf("n%d=%s", i+1, on.nid(fmt.Sprintf("10.1.0.%d", i+1))) }
		for i := range cutRoomNodes {
			h, at := lab.Host(fmt.Sprintf("node %d", i+1)), left
			if i >= cutRoomLeft {
				at = right
			}
			lab.Cable(h, fmt.Sprintf("10.1.0.%d/24", i+1), at, "")
			daemons = append(daemons, commands.Start(t, lnetdtest.Config{
				Networks: on.eth0(), Port: kernelPort, Within: h.Do,
				Settings: []string{"zone:", "  name: base", fmt.Sprintf("  node: n%d", i+1), "  bootstrap: [" + strings.Join([]string{id(0), id(5), id(9)}, ", ") + "]"},
			}))
		}
		r := &cutRoom{t: t, daemons: daemons}
		r.whole("the start")
		<-time.After(cutCalm) // after that, all consequences of the start have been reported
		begin := time.Now()
		for range cutRuns {
			trunk.Pull(left)
			<-time.After(cutLength)
			trunk.Plug(left)
			<-time.After(cutCalm)
		}
		r.whole("the cuts")
		r.judge(begin)
	})
}

// cutRoom has the daemons of a zone.
type cutRoom struct {
	t       *testing.T
	daemons []*lnetdtest.Daemon
}

// whole waits until every daemon lists all daemons.
func (r *cutRoom) whole(after string) {
	r.t.Helper()
	for i, d := range r.daemons {
		d.Until(zoneBound, fmt.Sprintf("a whole view at node %d after %s", i+1, after), func() bool {
			s, err := zonemod.OpStatus.Call(r.t.Context(), d.Control(), control.None{})
			return err == nil && s.Members == len(r.daemons)
		})
	}
}

// judge fails the test for each daemon that was told that another daemon on its own switch has
// left.
func (r *cutRoom) judge(since time.Time) {
	r.t.Helper()
	suspected, across := 0, 0
	for i, d := range r.daemons {
		list, err := zonemod.OpEvents.Call(r.t.Context(), d.Control(), zonemod.EventsFrom{From: 0})
		if err != nil {
			r.t.Fatal(err)
		}
		for k := range list.Events {
			switch e := &list.Events[k]; {
			case e.Time.Before(since):
			case e.Kind == zone.Suspected:
				suspected++
			case e.Kind != zone.Left:
			case r.isLeft(e) == (i < cutRoomLeft):
				r.t.Errorf("node %d removed %v of its own switch (%v), %v after the first cut", i+1, e.ID, e.Cause, e.Time.Sub(since))
			default:
				across++
			}
		}
	}
	r.t.Logf("%d cuts of %v: %d suspicions, %d removals by nodes of the other switch", cutRuns, cutLength, suspected, across)
	if suspected == 0 {
		r.t.Error("nobody suspected anybody: the cable was not out")
	}
}

// isLeft reports whether an event is about a node of the smaller switch.
func (r *cutRoom) isLeft(e *zonemod.Event) bool {
	var number int
	if _, err := fmt.Sscanf(e.ID.Name(), "n%d", &number); err != nil {
		r.t.Fatal(err)
	}
	return number <= cutRoomLeft
}
