package health

import (
	"ulnet/cmd/internal/control"
	"ulnet/health"
)

// What the daemon can be asked of client health.
var (
	OpHealthStatus     = control.Question[control.None, HealthStatus]{Path: "/v1/health", Doc: "what is known of client health"}
	OpHealthClients    = control.Question[HealthFilter, HealthClients]{Path: "/v1/health/clients", Doc: "clients, as a filter wants them"}
	OpHealthClient     = control.Question[HealthClientName, health.ClientInfo]{Path: "/v1/health/client", Doc: "one client, by its id or name"}
	OpHealthServers    = control.Question[control.None, []HealthPeer]{Path: "/v1/health/servers", Doc: "the servers as this one knows them"}
	OpHealthEverywhere = control.Question[HealthEverywhereFilter, HealthEverywhere]{Path: "/v1/health/everywhere", Doc: "what all servers say of clients", Long: true}
	OpHealthHistory    = control.Question[HealthPastFilter, HealthPast]{Path: "/v1/health/history", Doc: "evictions by this server"}
	OpHealthTombstones = control.Question[HealthTombstoneFilter, HealthTombstones]{Path: "/v1/health/tombstones", Doc: "lives of clients that this server refuses"}
	OpHealthEviction   = control.Question[HealthEvictionOf, HealthEviction]{Path: "/v1/health/eviction", Doc: "how far an eviction is"}
	OpHealthEvict      = control.Command[HealthEvict, HealthEvicted]{Path: "/v1/health/evict", Doc: "evicts a client from all servers"}
	OpHealthDrain      = control.Action[HealthDrain]{Path: "/v1/health/drain", Doc: "has clients choose other masters, or takes that back"}
)

// HealthClientName names a client.
type HealthClientName struct {
	Client string `query:"client"` // an id or a name
}

// Routes are the operations of client health.
func (m *Module) Routes() []control.Route {
	return []control.Route{
		OpHealthStatus.Do(control.Ask(m.Status)), OpHealthClients.Do(control.Quick(m.Clients)),
		OpHealthClient.Do(control.Quick(func(r HealthClientName) (health.ClientInfo, error) { return m.Client(r.Client) })),
		OpHealthServers.Do(control.Ask(m.Servers)), OpHealthEverywhere.Do(m.Everywhere),
		OpHealthHistory.Do(control.Quick(m.History)), OpHealthTombstones.Do(control.Quick(m.Tombstones)),
		OpHealthEviction.Do(control.Quick(m.Eviction)), OpHealthEvict.Do(m.Evict), OpHealthDrain.Do(control.Act(m.Drain)),
	}
}
