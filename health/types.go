package health

import (
	"ulnet/health/engine"
	"ulnet/health/wire"
)

// Error says what cannot be done, and what the user can do instead. If this server must not
// drain because other servers do, Draining lists those.
type Error = engine.Error

// Errors that a program may want to tell apart; each is an *[Error].
var (
	errNoNID         = &Error{Why: "say which NID of this node takes part"}
	ErrOutside error = &Error{Why: "a server needs a View, a Broadcaster, and with a Store a wall clock"}
	ErrClosed  error = &Error{Why: "the connection of the client, or the agent of the server, was closed"}
	// ErrSuperseded means that a later incarnation of the same client runs elsewhere. The status of
	// the connection shows where. The client tries again after some minutes.
	ErrSuperseded error = &Error{Why: "this client runs on another node, in a later incarnation: give each node an id of its own, or end the other one"}
	// ErrUnaware means that some servers have not acknowledged that this client leaves. They find
	// out by asking the client, and evict it within 2·T_evict after its last message.
	ErrUnaware error = &Error{Why: "servers may not know that this client left, and evict it within 2·T_evict"}
)

// Types that a program exchanges with its agent.
type (
	// ClientID identifies a client over all its incarnations. The zero value identifies none.
	ClientID = wire.ClientID
	// Code is the answer of a server, Cause the reason why a client was evicted.
	Code  = wire.Code
	Cause = wire.Cause
	// Timing are the times of the protocol; all servers and clients should use the same.
	Timing = engine.Timing
	// Record is the part of a connection's state that survives a restart of the server (CH-4).
	Record = engine.Record
	// Event is an event that is reported to the program of a server, ClientEvent one that is
	// reported to the program of a client.
	Event           = engine.Event
	EventKind       = engine.EventKind
	ClientEvent     = engine.ClientEvent
	ClientEventKind = engine.ClientEventKind
	// ServerStatus is the state of a server, ClientInfo what it knows of a client,
	// TombstoneInfo an eviction that it remembers, and EvictionStatus the progress of an
	// eviction that it makes. ServerStats has its counters.
	ServerStatus   = engine.ServerStatus
	ClientInfo     = engine.ClientInfo
	TombstoneInfo  = engine.TombstoneInfo
	EvictionStatus = engine.EvictionStatus
	ServerStats    = engine.ServerStats
	// ClientStatus is the state of a client, SupersededBy the later incarnation because of which
	// the client waits. ClientStats has the counters of a client.
	ClientStatus = engine.ClientStatus
	SupersededBy = engine.SupersededBy
	ClientStats  = engine.ClientStats
)

// The codes, with their meanings in the answer to a client.
const (
	OK            = wire.OK
	Global        = wire.Global        // this incarnation of the client was evicted from all servers
	NoQuorum      = wire.NoQuorum      // the server is cut off from most others
	MasterDead    = wire.MasterDead    // the master that was named is dead
	Stale         = wire.Stale         // a later incarnation of the client is known
	OldEpoch      = wire.OldEpoch      // a later choice of a master is known
	NotConnected  = wire.NotConnected  // the server does not know the client
	Busy          = wire.Busy          // the client's earlier incarnation is being evicted: try again later
	Orphaned      = wire.Orphaned      // the client's master is dead, or has not confirmed the client
	OtherMaster   = wire.OtherMaster   // the client has another master
	Full          = wire.Full          // no room for more clients
	Flapping      = wire.Flapping      // the client connects too often
	StoreFailed   = wire.StoreFailed   // the connection cannot be recorded
	Draining      = wire.Draining      // the server takes no clients as their master
	UnknownServer = wire.UnknownServer // the master that was named is not a server
	BadClaim      = wire.BadClaim      // the token, which signs a claim, does not prove that the named master agreed
	Foreign       = wire.Foreign       // the client is connected from another node
	Newer         = wire.Newer         // a later incarnation of the client is connected
	Ahead         = wire.Ahead         // the number of the client's incarnation is far above the wall clock: a clock is wrong
	OtherTimes    = wire.OtherTimes    // T_evict of the server is too short for the client's times
	OtherKey      = wire.OtherKey      // the connect request is not signed with a key of the server
)

// The causes.
const (
	TimedOut    = wire.TimedOut    // the master has received no message of the client for T_evict
	Rebooted    = wire.Rebooted    // the client has connected again, in a new incarnation
	ByAdmin     = wire.ByAdmin     // an administrator has ordered the eviction
	LostMaster  = wire.LostMaster  // the client's master died, and the client did not name another one within T_orphan
	LostQuorum  = wire.LostQuorum  // this server is cut off from most others
	Left        = wire.Left        // the client has disconnected
	NeverStored = wire.NeverStored // the client's connection could not be recorded
)

// The kinds of events of servers.
const (
	ClientConnected = engine.ClientConnected // an incarnation of a client is connected
	ClientRecovered = engine.ClientRecovered // the client was connected before this server's restart, and is connected again
	ClientSuspended = engine.ClientSuspended // the client's eviction begins: do not serve it any more
	ClientEvicted   = engine.ClientEvicted   // the client was evicted, for the reason Cause
	ClientOrphaned  = engine.ClientOrphaned  // the client's master is dead, or does not know the client
	ClientRehomed   = engine.ClientRehomed   // the client has chosen another master, or its old one is confirmed
	QuorumLost      = engine.QuorumLost      // this server is cut off from most others
	QuorumWon       = engine.QuorumWon
)

// The kinds of events of clients, with the fields of [ClientEvent] that they use.
const (
	MasterChosen = engine.MasterChosen // sets Server, Epoch: the server is the master now
	MasterLost   = engine.MasterLost   // sets Server, Code: the server is no longer the master; the client looks for another one
	Attached     = engine.Attached     // sets Server: the client is connected to the server
	Dropped      = engine.Dropped      // sets Server, Code: the client is no longer connected to the server
	Refused      = engine.Refused      // sets Server, Code: the server does not accept the client now; with OtherTimes also Evict
	Evicted      = engine.Evicted      // sets Server, Code, Incarnation: all servers have evicted the client, whose next incarnation begins
	Superseded   = engine.Superseded   // sets Server, Incarnation, Peer: a later incarnation of this client runs elsewhere
)

// ParseClientID parses the text of a client id, 32 hexadecimal digits.
func ParseClientID(s string) (ClientID, error) { return wire.ParseClientID(s) }

// ClientIDOf derives a client id from a name. Equal names give equal ids.
func ClientIDOf(name string) ClientID { return wire.ClientIDOf(name) }
