package health

import (
	"cmp"
	"fmt"
	"time"

	"ulnet/health"
	"ulnet/health/boltstore"
	"ulnet/lnet/nid"
)

// Status is what a node knows of client health: as a server, as a client,
// or as both.
type Status struct {
	Timing Timing      `json:"timing"`
	Server *ServerRole `json:"server,omitempty"` // nil: this node is none
	Client *ClientRole `json:"client,omitempty"` // likewise
}

// Timing are the times of [health.Timing] in force, in ms.
type Timing struct {
	PingMS      int64 `json:"ping_ms"`
	ClientMS    int64 `json:"client_ms"`
	ElectMS     int64 `json:"elect_ms"`
	EvictMS     int64 `json:"evict_ms"`
	OrphanMS    int64 `json:"orphan_ms"`
	QuorumMS    int64 `json:"quorum_ms"` // below 0: at once
	BroadcastMS int64 `json:"broadcast_ms"`
	RTTMS       int64 `json:"rtt_ms"`
	TickMS      int64 `json:"tick_ms"`
	TryMS       int64 `json:"try_ms"`
}

// State is a word for what the server role does at a node.
type State string

// The states.
const (
	Running State = "running" // it watches over clients
	Waiting State = "waiting" // for gossip, which says who the servers are
)

// ServerRole is the state of the server role. Unless it runs all but the first
// fields is zero.
type ServerRole struct {
	State State `json:"state"`
	// Gossip says that gossip runs; without it nobody can tell who is alive.
	Gossip bool `json:"gossip"`
	// Unsure says that discovery cannot judge who is alive, and the quorum stays as
	// it was.
	Unsure bool `json:"unsure"`
	// NoQuorum says why there is no quorum; nil: there is one.
	NoQuorum            *NoQuorum `json:"no_quorum,omitempty"`
	Alive               int       `json:"alive"` // servers, this one included
	Known               int       `json:"known"`
	MaxClients          int       `json:"max_clients"`
	health.ServerStatus           // quorum, draining, clients, mastered, batches, claim_keys, connect_keys and others
	// Store is nil if connections are not recorded.
	Store *StoreStatus `json:"store,omitempty"`
	// Stats is health.ServerStats, with underscores; counters by code or cause have
	// that behind: rejected_no_quorum, ended_timed_out. Paused is paused_ms.
	Stats map[string]uint64 `json:"stats"`
}

// StoreStatus is the state of the records of connections.
type StoreStatus struct {
	Path string `json:"path"`
	boltstore.Stats
}

// ClientRole is the state of the client role.
type ClientRole struct {
	Name    string    `json:"name,omitempty"`
	Servers []nid.NID `json:"servers"`
	health.ClientStatus
	Stats map[string]uint64 `json:"stats"` // as ServerRole.Stats
}

// ClientFilter says which clients of a server to list.
type ClientFilter struct {
	Master nid.NID `query:"master"` // zero: any
	NID    nid.NID `query:"nid"`    // of the client; zero: any
	State  string  `query:"state"`  // as in health.ClientInfo; "": any
	Limit  int     `query:"limit"`  // at most so many; 0: DefaultLimit
}

// Check refuses a limit that is none.
func (f *ClientFilter) Check() error { return checkLimit(f.Limit) }

func checkLimit(limit int) error {
	if limit < 0 || limit > MaxLimit {
		return fmt.Errorf("limit %d: want a number up to %d", limit, MaxLimit)
	}
	return nil
}

// limitOf is a limit that was checked, with its default.
func limitOf(limit int) int { return cmp.Or(limit, DefaultLimit) }

// Bounds of a list of clients.
const (
	DefaultLimit = 1000
	MaxLimit     = 100_000
)

// ClientList is a list of clients of a server, by their ids.
type ClientList struct {
	Matching int                 `json:"matching"` // how many there are
	More     bool                `json:"more"`     // than are listed
	Clients  []health.ClientInfo `json:"clients"`
}

// EvictRequest has a client evicted from all servers.
type EvictRequest struct {
	Client health.ClientID `json:"client"`
}

// EvictReply is what came of a EvictRequest.
type EvictReply struct {
	Client health.ClientID `json:"client"`
	// Result is OK if the eviction has begun: all servers are told, and what came of
	// it is an event. NoQuorum: this server is cut off, and has evicted it here only.
	// Otherwise nothing happened: NotConnected, Busy (it connects just now), Orphaned
	// (it was recovered, and not confirmed yet), or OtherMaster: it can be evicted there.
	Result health.Code `json:"result"`
	Master nid.NID     `json:"master,omitzero"` // of the client, if it is connected
	// Incarnation is that which is being evicted, or is connected.
	Incarnation uint64 `json:"incarnation,omitempty"`
}

// DrainRequest has all clients choose other masters than this server, and keeps
// it from becoming one, until On is false.
type DrainRequest struct {
	On bool `json:"on"`
	// Force has it drain although no other server takes clients.
	Force bool `json:"force,omitempty"`
}

// Peer is a server as another one knows it.
type Peer struct {
	NID       nid.NID `json:"nid"`
	Self      bool    `json:"self"`
	Alive     bool    `json:"alive"`
	Lifetimes uint64  `json:"lifetimes"` // how often it has died, as far as is known
	// Clients is how many of this server's clients have that one as their master.
	Clients int `json:"clients"`
	// Draining is nil if it is not known: another one has not said that it drains.
	Draining *bool `json:"draining,omitempty"`
}

// EventMessage is the message of the daemon's log lines, and events on the
// control socket, that are a Event.
const EventMessage = "client health"

// Event is a line of the daemon's events whose Msg is EventMessage, with Source
// before it: what 'lnetctl health watch' prints as JSON, and what event handlers get.
type Event struct {
	Source      string    `json:"source"` // config.HealthSource; not in the daemon's lines
	Time        time.Time `json:"time"`
	Msg         string    `json:"msg"`
	Role        string    `json:"role"`                  // server or client: whose event it is
	Event       string    `json:"event"`                 // health.EventKind or health.ClientEventKind
	Client      string    `json:"client,omitempty"`      // its id
	Name        string    `json:"name,omitempty"`        // of the client
	Incarnation uint64    `json:"incarnation,omitempty"` // of the client
	Epoch       uint32    `json:"epoch,omitempty"`
	Cause       string    `json:"cause,omitempty"`  // of suspended and evicted, at a server
	Master      string    `json:"master,omitempty"` // of the client, at a server
	Peer        string    `json:"peer,omitempty"`   // whence the client speaks, at a server; where the later incarnation runs, of superseded
	Server      string    `json:"server,omitempty"` // that an event of a client is about
	Code        string    `json:"code,omitempty"`   // why, at a client
	// Missed is how many events before this one were left out, because they came
	// faster than they could be written. An event without Role and Event says so of
	// the last ones.
	Missed uint64 `json:"missed,omitempty"`
}
