package health

import (
	"cmp"
	"fmt"
	"time"

	"ulnet/health"
	"ulnet/health/boltstore"
	"ulnet/lnet/latency"
	"ulnet/lnet/nid"
)

// Status is the state of client health at a node: as a server, as a client, or as both.
type Status struct {
	Timing Timing      `json:"timing"`           // times in force
	Server *ServerRole `json:"server,omitempty"` // state of the server role; nil: this node has none
	Client *ClientRole `json:"client,omitempty"` // state of the client role; nil: this node has none
}

// Timing has the times of [health.Timing] in force, in ms.
type Timing struct {
	PingMS      int64 `json:"ping_ms"`      // T_ping
	ClientMS    int64 `json:"client_ms"`    // T_client
	ElectMS     int64 `json:"elect_ms"`     // T_elect + T_notify
	EvictMS     int64 `json:"evict_ms"`     // T_evict
	OrphanMS    int64 `json:"orphan_ms"`    // T_orphan
	QuorumMS    int64 `json:"quorum_ms"`    // T_q; below 0: a server that is cut off evicts its clients at once
	BroadcastMS int64 `json:"broadcast_ms"` // T_bcast
	RTTMS       int64 `json:"rtt_ms"`       // longest round trip
	TickMS      int64 `json:"tick_ms"`      // time for which a server collects evictions before it broadcasts them
	TryMS       int64 `json:"try_ms"`       // how long a client waits for one candidate
}

// State is the state of the server role as a word.
type State string

// The states.
const (
	Running State = "running" // the server watches over clients
	Waiting State = "waiting" // the server waits until gossip reports the servers
)

// ServerRole is the state of the server role. If it does not run, only the fields before
// ServerStatus are set.
type ServerRole struct {
	State State `json:"state"` // state of the server role
	// Gossip means that gossip runs; otherwise the server cannot tell which servers are alive.
	Gossip bool `json:"gossip"`
	// Unsure means that gossip cannot judge at present which servers are alive. The quorum stays
	// as it was.
	Unsure bool `json:"unsure"`
	// NoQuorum describes why there is no quorum; nil: there is one.
	NoQuorum            *NoQuorum `json:"no_quorum,omitempty"`
	Alive               int       `json:"alive"`       // number of servers alive, this one included
	Known               int       `json:"known"`       // number of all servers
	MaxClients          int       `json:"max_clients"` // bound of the number of connections
	health.ServerStatus           // quorum, draining, clients, mastered, batches, claim_keys, connect_keys and others
	// Store is nil if connections are not recorded.
	Store *StoreStatus `json:"store,omitempty"`
	// Stats has the fields of health.ServerStats, with their names in snake_case. A field with one counter for
	// each code or cause becomes several entries, which end in the code or cause: rejected_no_quorum,
	// ended_timed_out. The time Paused is paused_ms, in milliseconds.
	Stats map[string]uint64 `json:"stats"`
}

// StoreStatus is the state of the records of connections.
type StoreStatus struct {
	Path string `json:"path"` // path of the database
	boltstore.Stats
}

// ClientRole is the state of the client role.
type ClientRole struct {
	Name    string    `json:"name,omitempty"` // name of the client, for people to read
	Servers []nid.NID `json:"servers"`        // NIDs of the cluster's servers
	health.ClientStatus
	Stats       map[string]uint64 `json:"stats"`        // counters of health.ClientStats, named as in ServerRole.Stats
	PingLatency latency.Snapshot  `json:"ping_latency"` // how long masters took to answer pings, see health.Connection.PingLatency
}

// ClientFilter selects clients of a server.
type ClientFilter struct {
	Master nid.NID `query:"master"` // master of the clients; zero: any
	NID    nid.NID `query:"nid"`    // NID of the client; zero: any
	State  string  `query:"state"`  // state as in health.ClientInfo; "": any
	Limit  int     `query:"limit"`  // largest number of clients; 0: DefaultLimit
}

// Check refuses an invalid limit.
func (f *ClientFilter) Check() error { return checkLimit(f.Limit) }

func checkLimit(limit int) error {
	if limit < 0 || limit > MaxLimit {
		return fmt.Errorf("limit %d: want a number up to %d", limit, MaxLimit)
	}
	return nil
}

// limitOf returns a checked limit, or the default for 0.
func limitOf(limit int) int { return cmp.Or(limit, DefaultLimit) }

// Bounds of a list of clients.
const (
	DefaultLimit = 1000
	MaxLimit     = 100_000
)

// ClientList is a list of clients of a server, ordered by id.
type ClientList struct {
	Matching int                 `json:"matching"` // number of matching clients
	More     bool                `json:"more"`     // there are more clients than are listed
	Clients  []health.ClientInfo `json:"clients"`  // the first of the matching clients
}

// EvictRequest orders the eviction of a client from all servers.
type EvictRequest struct {
	Client health.ClientID `json:"client"` // id of the client; required
}

// EvictReply is the result of an EvictRequest.
type EvictReply struct {
	Client health.ClientID `json:"client"` // id of the client, as in the request
	// Result is OK if the eviction has begun; its end is an event. NoQuorum means that this server
	// is cut off, and has ended only its own connection. With the other codes nothing was done:
	// NotConnected, Busy (the client is connecting), Orphaned (this server was restarted, and the
	// client's master has not confirmed the client yet), or OtherMaster (only the server Master can
	// evict the client).
	Result health.Code `json:"result"`
	Master nid.NID     `json:"master,omitzero"` // the client's master, if the client is connected
	// Incarnation is the number of the incarnation that is being evicted or connected.
	Incarnation uint64 `json:"incarnation,omitempty"`
}

// DrainRequest begins or ends draining: while On is true, all clients of this server choose
// other masters, and the server takes no new ones.
type DrainRequest struct {
	On bool `json:"on"` // true: begin draining; false: end draining
	// Force makes the server drain even if no other server takes clients.
	Force bool `json:"force,omitempty"`
}

// Peer is a server as another one knows it.
type Peer struct {
	NID       nid.NID `json:"nid"`       // NID of the server
	Self      bool    `json:"self"`      // this is the server that answers
	Alive     bool    `json:"alive"`     // gossip reports the server as alive
	Lifetimes uint64  `json:"lifetimes"` // how often the server has died, as far as gossip knows
	// Clients is how many clients of the server that answers have the server with this NID as their master.
	Clients int `json:"clients"`
	// Draining is nil if the server with this NID is not the one that answers, and has not reported that it drains.
	Draining *bool `json:"draining,omitempty"`
}

// EventMessage is the message of log lines, and of events on the control socket, that are an Event.
const EventMessage = "client health"

// Event is an event of client health: a line of the daemon's events whose Msg is EventMessage,
// with Source added. 'lnetctl health watch' prints it as JSON, and event handlers get it.
type Event struct {
	Source      string    `json:"source"`                // config.HealthSource; the log lines of the daemon omit it
	Time        time.Time `json:"time"`                  // time of the event, by the wall clock
	Msg         string    `json:"msg"`                   // EventMessage; empty if the event only has Missed
	Role        string    `json:"role"`                  // server or client: the role that reports it
	Event       string    `json:"event"`                 // health.EventKind or health.ClientEventKind
	Client      string    `json:"client,omitempty"`      // id of the client, at a server
	Name        string    `json:"name,omitempty"`        // name of the client
	Incarnation uint64    `json:"incarnation,omitempty"` // number of the client's incarnation
	Epoch       uint32    `json:"epoch,omitempty"`       // number of the client's choice of a master
	Cause       string    `json:"cause,omitempty"`       // at a server, for the events suspended and evicted: the reason
	Master      string    `json:"master,omitempty"`      // at a server: the client's master
	Peer        string    `json:"peer,omitempty"`        // at a server: process of the client; for the event superseded: node of the later incarnation
	Server      string    `json:"server,omitempty"`      // the server that an event of a client is about
	Code        string    `json:"code,omitempty"`        // at a client: the reason
	// Missed is how many events before this one were dropped, because they came faster than they
	// could be written. If the last events were dropped, an event without Role and Event reports
	// their number.
	Missed uint64 `json:"missed,omitempty"`
}
