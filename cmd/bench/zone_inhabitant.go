package main

import (
	"encoding/json"
	"io"
	"net/netip"
	"sync"
	"time"

	"ulnet/gossip/zone"
)

const inhabitantUsage = "Be a node of a zone; bench starts itself so"

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

// serveInhabitant is the process of a node of a zone. It ends with its standard
// input, so it never outlives the process that started it.
func serveInhabitant(stdin io.Reader, stdout io.Writer) error {
	commands := json.NewDecoder(stdin)
	var setup inhabitantSetup
	if err := commands.Decode(&setup); err != nil {
		return err
	}
	a := new(zoneAgents)
	defer a.close()
	tell := &newsTeller{out: json.NewEncoder(stdout)}
	if err := a.add(setup.Addr, setup.First, setup.Port, setup.Heartbeat); err != nil {
		return err
	}
	a.agents[0].Watch(tell.event)
	if setup.Monitor {
		if err := a.agents[0].Set(zone.MonitorKey, nil); err != nil {
			return err
		}
	}
	_, err := io.Copy(io.Discard, stdin)
	return err
}

// newsTeller writes down events, a line each.
type newsTeller struct {
	mu  sync.Mutex
	out *json.Encoder // guarded by mu
}

func (t *newsTeller) event(e zone.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Who does not listen any more ends this process with its input.
	_ = t.out.Encode(inhabitantNews{At: time.Now().UnixNano(), Kind: e.Kind, Name: e.ID.Name(), Keys: e.Keys})
}
