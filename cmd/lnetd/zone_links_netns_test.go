//go:build linux

package main_test

import (
	"fmt"
	"os"
	"slices"
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

// cutZone is a base zone of three daemons, all of them delegates, below two supervisors.
type cutZone struct {
	t       *testing.T
	on      network
	hosts   []*netlab.Host // hosts of all daemons, the supervisors first
	daemons []*lnetdtest.Daemon
}

const cutSupervisors, cutNodes = 2, 5

func (c *cutZone) address(i int) string { return fmt.Sprintf("10.1.0.%d", i+1) }

func (c *cutZone) id(i int) zone.ID {
	return zone.MustParseID(fmt.Sprintf("n%d=%s", i+1, c.on.nid(c.address(i))))
}

func newCutZone(t *testing.T, on network) *cutZone {
	t.Helper()
	lab := netlab.New(t)
	room := lab.Switch("room")
	commands := lnetdtest.Build(t)
	c := &cutZone{t: t, on: on}
	management := fmt.Sprintf("[%v, %v]", c.id(0), c.id(1))
	for i := range cutNodes {
		h := lab.Host(fmt.Sprintf("node %d", i+1))
		lab.Cable(h, c.address(i)+"/24", room, "")
		settings := append(on.eager(2*time.Second, 200*time.Millisecond, time.Second), "zone:", fmt.Sprintf("  node: n%d", i+1), "  heartbeat: 500ms")
		if i < cutSupervisors {
			settings = append(settings, "  name: management", "  role: supervisor", "  bootstrap: "+management)
		} else {
			settings = append(settings, "  name: rack", "  management: "+management, fmt.Sprintf("  bootstrap: [%v, %v]", c.id(2), c.id(3)))
		}
		c.hosts = append(c.hosts, h)
		c.daemons = append(c.daemons, commands.Start(t, lnetdtest.Config{Crowd: true, Networks: on.eth0(), Port: kernelPort, Within: h.Do, Settings: settings}))
	}
	return c
}

// cut cuts some delegates off from all supervisors.
func (c *cutZone) cut(delegates ...int) {
	c.t.Helper()
	var addrs []string
	for _, i := range delegates {
		addrs = append(addrs, c.address(i))
	}
	for i := range cutNodes {
		switch {
		case i < cutSupervisors:
			c.hosts[i].Block(addrs...)
		case slices.Contains(delegates, i):
			c.hosts[i].Block(c.address(0), c.address(1))
		default:
			c.hosts[i].Block()
		}
	}
}

// await waits until both supervisors have one zone of three members in the census, with an entry that the
// function right accepts. It returns the entry. At no time may the zone be missing.
func (c *cutZone) await(what string, within time.Duration, right func(*zone.CensusEntry) bool) (last zone.CensusEntry) {
	c.t.Helper()
	begin := time.Now()
	for i := range cutSupervisors {
		c.daemons[i].Until(within, fmt.Sprintf("%s at supervisor %d", what, i+1), func() bool {
			list, err := zonemod.OpCensus.Call(c.t.Context(), c.daemons[i].Control(), control.None{})
			if err != nil || len(list) != 1 || list[0].Size != 3 {
				c.t.Fatalf("%s: supervisor %d has %+v, %v", what, i+1, list, err)
			}
			last = list[0]
			return right(&last)
		})
	}
	c.t.Logf("%s after %v", what, time.Since(begin).Round(10*time.Millisecond))
	return last
}

// nothingFalse fails the test if any daemon was told that another one has left.
func (c *cutZone) nothingFalse() {
	c.t.Helper()
	for i, d := range c.daemons {
		list, err := zonemod.OpEvents.Call(c.t.Context(), d.Control(), zonemod.EventsFrom{From: 0})
		if err != nil {
			c.t.Fatal(err)
		}
		for k := range list.Events {
			if e := &list.Events[k]; e.Kind == zone.Left {
				c.t.Errorf("node %d was told that %v left: %v", i+1, e.ID, e.Cause)
			}
		}
	}
}

// TestCutDelegate: MS-98, MS-100: there are five daemons, two of them supervisors. The active
// delegate loses its connections to the supervisors; another one replaces it, and lists the
// supervisors that it does not reach. Then no delegate reaches any supervisor: the zone's entry
// in the census becomes stale, and later lost. When the network is restored, the entry is
// current again. No node is removed, and the zone stays in the census.
func TestCutDelegate(t *testing.T) {
	spec.Covers(t, "MS-98", "MS-100")
	if os.Getenv("ULNET_LONG") == "" {
		t.Skip("cuts daemons in namespaces off for half a minute: set ULNET_LONG=1")
	}
	onNetworks(t, func(t *testing.T, on network) { newCutZone(t, on).run() })
}

func (c *cutZone) run() {
	for i := range cutSupervisors { // a zone may be missing until it has registered for the first time
		c.daemons[i].Until(zoneBound, "a complete census", func() bool {
			list, err := zonemod.OpCensus.Call(c.t.Context(), c.daemons[i].Control(), control.None{})
			return err == nil && len(list) == 1 && list[0].Size == 3 && list[0].Delegates == 3
		})
	}
	first := c.await("the start", zoneBound, func(e *zone.CensusEntry) bool { return e.State == zone.Current })
	active := 0
	for i := range cutNodes {
		if c.id(i) == first.Delegate {
			active = i
		}
	}
	c.cut(active)
	c.await("a take-over", zoneBound, func(e *zone.CensusEntry) bool {
		return e.State == zone.Current && e.Activation > first.Activation && e.Delegate != first.Delegate
	})
	c.daemons[active].Until(zoneBound, "resignation of the delegate that is cut off", func() bool {
		s, err := zonemod.OpStatus.Call(c.t.Context(), c.daemons[active].Control(), control.None{})
		d := s.Delegation
		return err == nil && d.Activation == 0 && d.CutOff && len(d.Unreached) == cutSupervisors && s.Members == 3
	})
	if log := c.daemons[active].Log(); strings.Count(log, "a supervisor does not answer this delegate") != cutSupervisors {
		c.t.Errorf("its log does not name each supervisor once:\n%s", log)
	}
	c.cut(2, 3, 4)
	c.await("stale", zoneBound, func(e *zone.CensusEntry) bool { return e.State == zone.Stale })
	c.await("lost", zoneBound, func(e *zone.CensusEntry) bool { return e.State == zone.Lost && e.Age > 10*time.Second })
	c.cut()
	c.await("mended", zoneBound, func(e *zone.CensusEntry) bool { return e.State == zone.Current })
	c.nothingFalse()
}
