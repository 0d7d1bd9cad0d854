package health

import (
	"cmp"
	"fmt"
	"time"

	"ulnet/health"
	"ulnet/health/boltstore"
	"ulnet/lnet/nid"
)

// HealthStatus is what a node knows of client health: as a server, as a client,
// or as both.
type HealthStatus struct {
	Timing HealthTiming  `json:"timing"`
	Server *HealthServer `json:"server,omitempty"` // nil: this node is none
	Client *HealthClient `json:"client,omitempty"` // likewise
}

// HealthTiming are the times of [health.Timing] in force, in ms.
type HealthTiming struct {
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

// HealthState is a word for what the server role does at a node.
type HealthState string

// The states.
const (
	HealthRunning HealthState = "running" // it watches over clients
	HealthWaiting HealthState = "waiting" // for gossip, which says who the servers are
)

// HealthServer is the state of the server role. Unless it runs all but the first
// fields is zero.
type HealthServer struct {
	State HealthState `json:"state"`
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
	Store *HealthStore `json:"store,omitempty"`
	// Stats is health.ServerStats, with underscores; counters by code or cause have
	// that behind: rejected_no_quorum, ended_timed_out. Paused is paused_ms.
	Stats map[string]uint64 `json:"stats"`
}

// HealthStore is the state of the records of connections.
type HealthStore struct {
	Path string `json:"path"`
	boltstore.Stats
}

// HealthClient is the state of the client role.
type HealthClient struct {
	Name    string    `json:"name,omitempty"`
	Servers []nid.NID `json:"servers"`
	health.ClientStatus
	Stats map[string]uint64 `json:"stats"` // as HealthServer.Stats
}

// HealthFilter says which clients of a server to list.
type HealthFilter struct {
	Master nid.NID `query:"master"` // zero: any
	NID    nid.NID `query:"nid"`    // of the client; zero: any
	State  string  `query:"state"`  // as in health.ClientInfo; "": any
	Limit  int     `query:"limit"`  // at most so many; 0: DefaultHealthLimit
}

// Check refuses a limit that is none.
func (f *HealthFilter) Check() error { return checkHealthLimit(f.Limit) }

func checkHealthLimit(limit int) error {
	if limit < 0 || limit > MaxHealthLimit {
		return fmt.Errorf("limit %d: want a number up to %d", limit, MaxHealthLimit)
	}
	return nil
}

// limitOf is a limit that was checked, with its default.
func limitOf(limit int) int { return cmp.Or(limit, DefaultHealthLimit) }

// Bounds of a list of clients.
const (
	DefaultHealthLimit = 1000
	MaxHealthLimit     = 100_000
)

// HealthClients is a list of clients of a server, by their ids.
type HealthClients struct {
	Matching int                 `json:"matching"` // how many there are
	More     bool                `json:"more"`     // than are listed
	Clients  []health.ClientInfo `json:"clients"`
}

// HealthEvict has a client evicted from all servers.
type HealthEvict struct {
	Client health.ClientID `json:"client"`
}

// HealthEvicted is what came of a HealthEvict.
type HealthEvicted struct {
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

// HealthDrain has all clients choose other masters than this server, and keeps
// it from becoming one, until On is false.
type HealthDrain struct {
	On bool `json:"on"`
	// Force has it drain although no other server takes clients.
	Force bool `json:"force,omitempty"`
}

// HealthPeer is a server as another one knows it.
type HealthPeer struct {
	NID       nid.NID `json:"nid"`
	Self      bool    `json:"self"`
	Alive     bool    `json:"alive"`
	Lifetimes uint64  `json:"lifetimes"` // how often it has died, as far as is known
	// Clients is how many of this server's clients have that one as their master.
	Clients int `json:"clients"`
	// Draining is nil if it is not known: another one has not said that it drains.
	Draining *bool `json:"draining,omitempty"`
}

// HealthMessage is the message of the daemon's log lines, and events on the
// control socket, that are a HealthEvent.
const HealthMessage = "client health"

// HealthEvent is a line of the daemon's events whose Msg is HealthMessage, with Source
// before it: what 'lnetctl health watch' prints as JSON, and what event handlers get.
type HealthEvent struct {
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
