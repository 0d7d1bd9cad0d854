package main

import (
	"net/netip"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/gossip/zone"
)

// inhabitantSetup is what the process of an inhabitant is told first.
type inhabitantSetup struct {
	Addr, First netip.Addr // its own, and that of a node to begin with
	Port        uint16
	Heartbeat   time.Duration
	Monitor     bool
}

// inhabitantNews is what it was told, and when on the wall clock.
type inhabitantNews struct {
	At   int64 // ns
	Kind zone.EventKind
	Name string // of the node
	Keys []string
}

// serveInhabitant is the process of a node of a zone, which tells of all that it is told.
func serveInhabitant(w *worker.Worker, setup inhabitantSetup) (bool, error) {
	a := new(zoneAgents)
	w.Defer(a.close)
	if err := a.add(setup.Addr, setup.First, setup.Port, setup.Heartbeat); err != nil {
		return false, err
	}
	a.agents[0].Watch(func(e zone.Event) {
		w.Tell(inhabitantNews{At: time.Now().UnixNano(), Kind: e.Kind, Name: e.ID.Name(), Keys: e.Keys})
	})
	if setup.Monitor {
		return true, a.agents[0].Set(zone.MonitorKey, nil)
	}
	return true, nil
}
