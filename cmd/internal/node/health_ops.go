package node

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

func (n *Node) healthRoutes() []control.Route {
	return []control.Route{
		OpHealthStatus.Do(control.Ask(n.HealthStatus)), OpHealthClients.Do(control.Quick(n.HealthClients)),
		OpHealthClient.Do(control.Quick(func(r HealthClientName) (health.ClientInfo, error) { return n.HealthClient(r.Client) })),
		OpHealthServers.Do(control.Ask(n.HealthServers)), OpHealthEverywhere.Do(n.HealthEverywhere),
		OpHealthHistory.Do(control.Quick(n.HealthHistory)), OpHealthTombstones.Do(control.Quick(n.HealthTombstones)),
		OpHealthEviction.Do(control.Quick(n.HealthEviction)), OpHealthEvict.Do(n.HealthEvict), OpHealthDrain.Do(control.Act(n.HealthDrain)),
	}
}
