package health

import (
	"ulnet/health/engine"
	"ulnet/health/wire"
)

// Error says what cannot be done, and what to do. Its Draining, if it has any, are the
// servers that keep this one from draining.
type Error = engine.Error

// What a program may want to tell apart: each is an *[Error].
var (
	errNoNID   error = &Error{Why: "say which NID of this node takes part"}
	ErrOutside error = &Error{Why: "a server needs a View, a Broadcaster, and with a Store a wall clock"}
	ErrClosed  error = &Error{Why: "the connection is closed"}
	// errSuperseded says that a later incarnation of the same client runs elsewhere. Status says
	// where; after some minutes it is tried again.
	errSuperseded error = &Error{Why: "this client runs on another node, in a later life: give each node an id of its own, or end the other one"}
	// errUnaware says that servers have not answered that they know that this client left:
	// they find it out by asking, and evict it within 2·T_evict of its last word.
	errUnaware error = &Error{Why: "servers may not know that this client left, and evict it within 2·T_evict"}
)

// What a program says to its agent, and hears from it.
type (
	// ClientID names a client over all its lives. The zero value names none.
	ClientID = wire.ClientID
	// Code is what a server answers, Cause why a client was evicted.
	Code  = wire.Code
	Cause = wire.Cause
	// Timing are the times of the protocol; all servers and clients should use the same.
	Timing = engine.Timing
	// Record is what a server remembers of a connection over a restart (CH-4).
	Record = engine.Record
	// Event is something that the user of a server is told, ClientEvent that of a client.
	Event           = engine.Event
	EventKind       = engine.EventKind
	ClientEvent     = engine.ClientEvent
	ClientEventKind = engine.ClientEventKind
	// ServerStatus is the state of a server, ClientInfo what it knows of a client,
	// TombstoneInfo an incarnation of a client that it refuses, and EvictionStatus how far an
	// eviction is that it makes. ServerStats counts what it did and met.
	ServerStatus   = engine.ServerStatus
	ClientInfo     = engine.ClientInfo
	TombstoneInfo  = engine.TombstoneInfo
	EvictionStatus = engine.EvictionStatus
	ServerStats    = engine.ServerStats
	// ClientStatus is the state of a client, SupersededBy why it rests, and ClientStats counts
	// what it did and met.
	ClientStatus = engine.ClientStatus
	SupersededBy = engine.SupersededBy
	ClientStats  = engine.ClientStats
)

// The codes.
const (
	OK            = wire.OK
	Global        = wire.Global        // this incarnation of the client was evicted from all servers
	NoQuorum      = wire.NoQuorum      // the server is cut off from most others
	MasterDead    = wire.MasterDead    // the master that was named is dead
	Stale         = wire.Stale         // a later incarnation of the client is known
	OldEpoch      = wire.OldEpoch      // a later choice of a master is known
	NotConnected  = wire.NotConnected  // the server does not know the client
	Busy          = wire.Busy          // the client's earlier incarnation is being evicted: later
	Orphaned      = wire.Orphaned      // the client's master is dead or unsure
	OtherMaster   = wire.OtherMaster   // the client has another master
	Full          = wire.Full          // no room for more clients
	Flapping      = wire.Flapping      // the client connects too often
	StoreFailed   = wire.StoreFailed   // the connection cannot be recorded
	Draining      = wire.Draining      // the server takes no clients as their master
	UnknownServer = wire.UnknownServer // the master that was named is not a server
	BadClaim      = wire.BadClaim      // the token does not prove that the master agreed
	Foreign       = wire.Foreign       // the client is connected from another node
	Newer         = wire.Newer         // a later incarnation of the client is connected
	Ahead         = wire.Ahead         // the number of the client's incarnation is beyond belief: its clock is wrong
	OtherTimes    = wire.OtherTimes    // T_evict of the server is too short for the client's times
	OtherKey      = wire.OtherKey      // a connect is not signed with a key of the server
)

// The causes.
const (
	TimedOut    = wire.TimedOut    // its master did not hear of it
	Rebooted    = wire.Rebooted    // it has connected again, in a new incarnation
	ByAdmin     = wire.ByAdmin     // an administrator said so
	LostMaster  = wire.LostMaster  // its master died, and it did not say in time who is the next
	LostQuorum  = wire.LostQuorum  // this server is cut off from most others
	Left        = wire.Left        // it has disconnected
	NeverStored = wire.NeverStored // its connection could not be recorded
)

// The kinds of events of servers.
const (
	ClientConnected = engine.ClientConnected // an incarnation of a client is connected
	ClientRecovered = engine.ClientRecovered // it was before this server's restart
	ClientSuspended = engine.ClientSuspended // its eviction begins: serve it no more
	ClientEvicted   = engine.ClientEvicted   // Cause
	ClientOrphaned  = engine.ClientOrphaned  // its master is dead or unsure
	ClientRehomed   = engine.ClientRehomed   // it has another master, or is sure of its old one
	QuorumLost      = engine.QuorumLost      // this server is cut off from most others
	QuorumWon       = engine.QuorumWon
)

// The kinds of events of clients, with the fields of [ClientEvent] that they use.
const (
	MasterChosen = engine.MasterChosen // Server, Epoch: it is the master now
	MasterLost   = engine.MasterLost   // Server, Code: it is the master no more; another is looked for
	Attached     = engine.Attached     // Server: connected to it
	Dropped      = engine.Dropped      // Server, Code: not connected to it any more
	Refused      = engine.Refused      // Server, Code: it does not connect now; Evict with OtherTimes
	Evicted      = engine.Evicted      // Server, Code, Incarnation: it was evicted by all; the next incarnation begins
	Superseded   = engine.Superseded   // Server, Incarnation, Peer: a later incarnation of this client exists elsewhere
)

// ParseClientID parses the text of a client id, 32 hexadecimal digits.
func ParseClientID(s string) (ClientID, error) { return wire.ParseClientID(s) }

// ClientIDOf returns the id of the client of some name: always the same one.
func ClientIDOf(name string) ClientID { return wire.ClientIDOf(name) }
