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

// maxHealthFile is the largest number of clients that a state file lists. With more clients,
// writing the file would take longer than the interval between two writes.
const maxHealthFile = 4096

// The state files that have a line for each field of a status.
var (
	parametersFile = statefiles.FieldsOf[Timing]("parameters", "ping_ms client_ms elect_ms evict_ms orphan_ms quorum_ms broadcast_ms rtt_ms tick_ms try_ms")
	serverFile     = statefiles.FieldsOf[ServerRole]("server", `state self? gossip unsure alive known quorum no_quorum.why=no_quorum draining clients max_clients mastered orphaned
		recovering evicting waiting tombstones batches claim_keys connect_keys store.records=records "store.error"=records_error`)
	clientFields = statefiles.FieldsOf[ClientRole]("client", `state client "name" incarnation master? epoch`)
)

// Files returns the state files of client health.
func (m *Module) Files() *statefiles.Config {
	if m.roles == nil {
		return nil
	}
	return &statefiles.Config{Dir: "health", Names: fileNames, Source: m.files}
}

// files returns the state of client health as files; none if no role is configured.
func (m *Module) files() []statefiles.File {
	status, err := m.Status()
	if err != nil {
		return nil
	}
	files := []statefiles.File{parametersFile.File(&status.Timing)}
	if s := status.Server; s != nil {
		files = append(files, serverFile.File(s), statefiles.CountersFile("statistics", s.Stats))
		if agent, err := m.server(); err == nil {
			servers, _ := m.Servers() // the error is nil, since m.server returned none
			files = append(files, serversFile(servers), clientsFile(agent, s.Clients))
		}
	}
	if c := status.Client; c != nil {
		files = append(files, clientFile(c), statefiles.CountersFile("client-statistics", c.Stats))
	}
	return files
}

// serversFile has a line for each server: NID, alive or dead, deaths, clients whose
// master it is.
func serversFile(servers []Peer) statefiles.File {
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

// clientsFile has a line for each client: id, incarnation, state, master, epoch, process, name.
// If there are too many clients, the file lists none.
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

func clientFile(c *ClientRole) statefiles.File {
	f := clientFields.File(c)
	for _, id := range c.Attached {
		f.Body = fmt.Appendf(f.Body, "attached %v\n", id)
	}
	return f
}
