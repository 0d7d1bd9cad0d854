package health

import (
	"bytes"
	"fmt"
	"strconv"

	"ulnet/cmd/internal/statefiles"
	"ulnet/health"
)

// fileNames are the names of the state files.
var fileNames = []string{"parameters", "server", "servers", "clients", "statistics", "client", "client-statistics"}

// maxHealthFile is how many clients a state file has at most: with more, that one
// would be written for longer than it is true.
const maxHealthFile = 4096

// Files shows the state of client health.
func (m *Module) Files() *statefiles.Config {
	if m.roles == nil {
		return nil
	}
	return &statefiles.Config{Dir: "health", Names: fileNames, Source: m.files}
}

// files returns the state of client health as files, none if there is none.
func (m *Module) files() []statefiles.File {
	status, err := m.Status()
	if err != nil {
		return nil
	}
	files := []statefiles.File{healthParameters(status.Timing)}
	if s := status.Server; s != nil {
		files = append(files, serverFile(s), statefiles.CountersFile("statistics", s.Stats))
		if agent, err := m.server(); err == nil {
			servers, _ := m.Servers() // as before
			files = append(files, serversFile(servers), clientsFile(agent, s.Clients))
		}
	}
	if c := status.Client; c != nil {
		files = append(files, clientFile(c), statefiles.CountersFile("client-statistics", c.Stats))
	}
	return files
}

func healthParameters(t HealthTiming) statefiles.File {
	return statefiles.Lines("parameters", func(line func(...any)) {
		line("ping_ms", t.PingMS)
		line("client_ms", t.ClientMS)
		line("elect_ms", t.ElectMS)
		line("evict_ms", t.EvictMS)
		line("orphan_ms", t.OrphanMS)
		line("quorum_ms", t.QuorumMS)
		line("broadcast_ms", t.BroadcastMS)
		line("rtt_ms", t.RTTMS)
		line("tick_ms", t.TickMS)
		line("try_ms", t.TryMS)
	})
}

func serverFile(s *HealthServer) statefiles.File {
	return statefiles.Lines("server", func(line func(...any)) {
		line("state", s.State)
		if s.Self.IsValid() {
			line("self", s.Self)
		}
		line("gossip", statefiles.YesNo(s.Gossip))
		line("unsure", statefiles.YesNo(s.Unsure))
		line("alive", s.Alive)
		line("known", s.Known)
		line("quorum", statefiles.YesNo(s.Quorum))
		if s.NoQuorum != nil {
			line("no_quorum", s.NoQuorum.Why)
		}
		line("draining", statefiles.YesNo(s.Draining))
		line("clients", s.Clients)
		line("max_clients", s.MaxClients)
		line("mastered", s.Mastered)
		line("orphaned", s.Orphaned)
		line("recovering", s.Recovering)
		line("evicting", s.Evicting)
		line("waiting", s.Waiting)
		line("tombstones", s.Tombstones)
		line("batches", s.Batches)
		line("claim_keys", s.ClaimKeys)
		line("connect_keys", s.Keys)
		if s.Store != nil {
			line("records", s.Store.Records)
			line("records_error", strconv.Quote(s.Store.Error))
		}
	})
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
	return statefiles.Lines("client", func(line func(...any)) {
		line("state", c.State)
		line("client", c.Client)
		line("name", strconv.Quote(c.Name))
		line("incarnation", c.Incarnation)
		if c.Master.IsValid() {
			line("master", c.Master)
		}
		line("epoch", c.Epoch)
		for _, id := range c.Attached {
			line("attached", id)
		}
	})
}
