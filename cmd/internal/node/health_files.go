package node

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"ulnet/cmd/internal/statefiles"
	"ulnet/health"
)

// HealthFileNames are the names of the state files of client health.
var HealthFileNames = []string{"parameters", "server", "servers", "clients", "statistics", "client", "client-statistics"}

// maxHealthFile is how many clients a state file has at most: with more, that one
// would be written for longer than it is true.
const maxHealthFile = 4096

// HealthFiles returns the state of client health as files, none if there is none.
func (n *Node) HealthFiles() []statefiles.File {
	status, err := n.HealthStatus()
	if err != nil {
		return nil
	}
	files := []statefiles.File{healthParameters(status.Timing)}
	if s := status.Server; s != nil {
		files = append(files, serverFile(s), countersFile("statistics", s.Stats))
		if agent, err := n.healthServer(); err == nil {
			servers, _ := n.HealthServers() // as before
			files = append(files, serversFile(servers), clientsFile(agent, s.Clients))
		}
	}
	if c := status.Client; c != nil {
		files = append(files, clientFile(c), countersFile("client-statistics", c.Stats))
	}
	return files
}

// lines is a file of lines with a name and a value each.
type lines struct{ bytes.Buffer }

func (l *lines) add(name string, value any) { fmt.Fprintln(l, name, value) }

func healthParameters(t HealthTiming) statefiles.File {
	var b lines
	b.add("ping_ms", t.PingMS)
	b.add("client_ms", t.ClientMS)
	b.add("elect_ms", t.ElectMS)
	b.add("evict_ms", t.EvictMS)
	b.add("orphan_ms", t.OrphanMS)
	b.add("quorum_ms", t.QuorumMS)
	b.add("broadcast_ms", t.BroadcastMS)
	b.add("rtt_ms", t.RTTMS)
	b.add("tick_ms", t.TickMS)
	b.add("try_ms", t.TryMS)
	return statefiles.File{Name: "parameters", Body: b.Bytes()}
}

func serverFile(s *HealthServer) statefiles.File {
	var b lines
	b.add("state", s.State)
	if s.Self.IsValid() {
		b.add("self", s.Self)
	}
	b.add("gossip", yesNo(s.Gossip))
	b.add("unsure", yesNo(s.Unsure))
	b.add("alive", s.Alive)
	b.add("known", s.Known)
	b.add("quorum", yesNo(s.Quorum))
	if s.NoQuorum != nil {
		b.add("no_quorum", s.NoQuorum.Why)
	}
	b.add("draining", yesNo(s.Draining))
	b.add("clients", s.Clients)
	b.add("max_clients", s.MaxClients)
	b.add("mastered", s.Mastered)
	b.add("orphaned", s.Orphaned)
	b.add("recovering", s.Recovering)
	b.add("evicting", s.Evicting)
	b.add("waiting", s.Waiting)
	b.add("tombstones", s.Tombstones)
	b.add("batches", s.Batches)
	b.add("claim_keys", s.ClaimKeys)
	b.add("connect_keys", s.Keys)
	if s.Store != nil {
		b.add("records", s.Store.Records)
		b.add("records_error", strconv.Quote(s.Store.Error))
	}
	return statefiles.File{Name: "server", Body: b.Bytes()}
}

// serversFile has a line for each server: NID, alive or dead, deaths, clients whose
// master it is.
func serversFile(servers []HealthPeer) statefiles.File {
	var b bytes.Buffer
	for _, p := range servers {
		state := "dead"
		if p.Alive {
			state = "alive"
		}
		fmt.Fprintln(&b, p.NID, state, p.Lifetimes, p.Clients)
	}
	return statefiles.File{Name: "servers", Body: b.Bytes()}
}

// clientsFile has a line for each client: id, incarnation, state, master, epoch,
// whence it speaks, name. With too many it has none.
func clientsFile(agent *health.ServerAgent, count int) statefiles.File {
	var b bytes.Buffer
	if count > maxHealthFile {
		fmt.Fprintf(&b, "# more than %d clients: 'lnetctl client list' lists them\n", maxHealthFile)
		return statefiles.File{Name: "clients", Body: b.Bytes()}
	}
	for _, c := range agent.Clients() {
		fmt.Fprintln(&b, c.Client, c.Incarnation, c.State, c.Master, c.Epoch, c.Peer, strconv.Quote(c.Name))
	}
	return statefiles.File{Name: "clients", Body: b.Bytes()}
}

func clientFile(c *HealthClient) statefiles.File {
	var b lines
	b.add("state", c.State)
	b.add("client", c.Client)
	b.add("name", strconv.Quote(c.Name))
	b.add("incarnation", c.Incarnation)
	if c.Master.IsValid() {
		b.add("master", c.Master)
	}
	b.add("epoch", c.Epoch)
	for _, id := range c.Attached {
		b.add("attached", id)
	}
	return statefiles.File{Name: "client", Body: b.Bytes()}
}

func countersFile(name string, counters map[string]uint64) statefiles.File {
	var b lines
	for _, key := range slices.Sorted(maps.Keys(counters)) {
		b.add(key, counters[key])
	}
	return statefiles.File{Name: name, Body: b.Bytes()}
}
