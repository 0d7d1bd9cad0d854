package health

import (
	"ulnet/cmd/internal/control"
	"ulnet/health"
)

// The operations of client health on the control socket.
var (
	OpStatus     = control.Question[control.None, Status]{Path: "/v1/health", Doc: "what is known of client health"}
	OpClients    = control.Question[ClientFilter, ClientList]{Path: "/v1/health/clients", Doc: "clients, as a filter wants them", Report: "?limit=1000"}
	OpClient     = control.Question[ClientName, health.ClientInfo]{Path: "/v1/health/client", Doc: "one client, by its id or name", Unasked: "is about one client"}
	OpServers    = control.Question[control.None, []Peer]{Path: "/v1/health/servers", Doc: "the servers as this one knows them"}
	OpEverywhere = control.Question[EverywhereFilter, EverywhereList]{Path: "/v1/health/everywhere", Doc: "what all servers say of clients", Long: true, Unasked: "asks all other servers"}
	OpHistory    = control.Question[PastFilter, PastList]{Path: "/v1/health/history", Doc: "evictions by this server", Report: "?"}
	OpTombstones = control.Question[TombstoneFilter, TombstoneList]{Path: "/v1/health/tombstones", Doc: "incarnations of clients that this server refuses", Report: "?"}
	OpEviction   = control.Question[EvictionQuery, EvictionStatus]{Path: "/v1/health/eviction", Doc: "how far an eviction is", Unasked: "is about one client"}
	OpEvict      = control.Command[EvictRequest, EvictReply]{Path: "/v1/health/evict", Doc: "evicts a client from all servers"}
	OpDrain      = control.Action[DrainRequest]{Path: "/v1/health/drain", Doc: "has clients choose other masters, or takes that back"}
)

// ClientName identifies a client.
type ClientName struct {
	Client string `query:"client"` // id or name of the client
}
