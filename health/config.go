package health

import (
	"cmp"
	"log/slog"
	"time"

	"ulnet/health/engine"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
)

// AgentConfig configures a [ServerAgent]. The zero value of a field means its default.
type AgentConfig struct {
	// Self is this server's NID. Default the node's, if it has only one.
	Self nid.NID
	// PID is that of all servers, and Incarnation the number of this incarnation, higher than that
	// of any before; clients whose lives are numbered by more than a year ahead of it are
	// refused. Default the node's.
	PID         nid.PID
	Incarnation uint64
	// Servers are all servers of the cluster, this one included. Required.
	Servers []nid.NID
	Timing
	// ClaimKeys, if there are any, sign what a master agreed to, which is demanded of
	// clients then (CH-44). All servers have the same.
	ClaimKeys keyring.Keys
	// Keys, if there are any, are demanded of those that connect: one of them must have
	// signed. Clients and servers have the same. [ServerAgent.SetKeys] changes them.
	Keys keyring.Keys
	// MaxClients bounds the connections. Default 200 000.
	MaxClients int
	// MaxIDs bounds those of one NID, and MaxUserIDs those of its processes whose PIDs
	// have nid.UserPID. Defaults 4 and 64.
	MaxIDs, MaxUserIDs int
	// Uneven leaves the load of masters as it is: no client is asked to choose a server
	// that has far fewer.
	Uneven bool

	View        View        // required
	Broadcaster Broadcaster // required
	Store       Store       // nil: nothing survives a restart
	// Wall is the wall clock, for tombstones in the Store and the times of History.
	Wall func() time.Time
	// Export returns what is to be remembered of a connection besides; may be nil.
	Export func(id ClientID, incarnation uint64) []byte
	// Recovered is given that after a restart; may be nil.
	Recovered func(r *Record)
	// Notify is told of events, in their order. It must not block. May be nil.
	Notify func(Event)
	Log    *slog.Logger  // nil discards
	Clock  machine.Clock // default the node's; machine.BootClock notices more pauses
}

// Engine returns the configuration of the machine that an agent with this one steps.
func (c AgentConfig) Engine() engine.ServerConfig {
	return engine.ServerConfig{
		Self: c.Self, PID: c.PID, Incarnation: c.Incarnation, Servers: c.Servers, Timing: c.Timing, ClaimKeys: c.ClaimKeys, Keys: c.Keys,
		MaxClients: c.MaxClients, MaxIDs: c.MaxIDs, MaxUserIDs: c.MaxUserIDs, Uneven: c.Uneven,
	}
}

// fill sets what is by default the node's.
func (c *AgentConfig) fill(table *portals.Table) (err error) {
	if c.Self, err = selfOf(table, c.Self); err != nil {
		return err
	}
	node := table.Node()
	c.PID, c.Incarnation = cmp.Or(c.PID, node.PID()), cmp.Or(c.Incarnation, node.Incarnation())
	c.Clock, c.Log = cmp.Or(c.Clock, node.Clock()), cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Timing, err = c.Filled()
	return err
}

// DialConfig configures [Dial]. The zero value of a field means its default.
type DialConfig struct {
	// ID names the client, over all its lives. It is made from the node's NID by default,
	// so that the same node is the same client after a restart.
	ID ClientID
	// Incarnation is the number of this incarnation, higher than that of any before. Default
	// the node's.
	Incarnation uint64
	// Name is what people call the client: at most 255 bytes, printable.
	Name string
	// Servers are all servers of the cluster. They are not modified. Required.
	Servers []nid.NID
	// PID is that of all servers. Default the node's.
	PID nid.PID
	Timing
	// Seed is for the choice of masters and for jitter, together with ID.
	Seed uint64
	// Keys, if there are any, sign connects: servers that have keys accept no others.
	// Servers of versions before 2026-11-25 do not understand signed connects.
	Keys keyring.Keys

	// Self is the NID to send from. Default the node's, if it has only one.
	Self nid.NID
	// Attach are servers to connect to besides the master, always.
	Attach []nid.NID
	// Notify is told of events, in their order. It must not block. May be nil.
	Notify func(ClientEvent)
	Log    *slog.Logger  // nil discards
	Clock  machine.Clock // default the node's
}

// Engine returns the configuration of the machine that a connection with this one steps.
func (c DialConfig) Engine() engine.ClientConfig {
	return engine.ClientConfig{
		ID: c.ID, Incarnation: c.Incarnation, Name: c.Name, Servers: c.Servers, PID: c.PID, Timing: c.Timing, Seed: c.Seed, Keys: c.Keys,
	}
}

// fill sets what is by default the node's.
func (c *DialConfig) fill(table *portals.Table) (err error) {
	if c.Self, err = selfOf(table, c.Self); err != nil {
		return err
	}
	node := table.Node()
	c.ID = cmp.Or(c.ID, ClientIDOf(nid.ProcessID{NID: c.Self, PID: node.PID()}.String()))
	c.PID, c.Incarnation = cmp.Or(c.PID, node.PID()), cmp.Or(c.Incarnation, node.Incarnation())
	c.Clock, c.Log = cmp.Or(c.Clock, node.Clock()), cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return nil
}

// selfOf returns the NID under which a node takes part: the one that was configured, or
// its only one.
func selfOf(table *portals.Table, self nid.NID) (nid.NID, error) {
	if self.IsValid() {
		return self, nil
	}
	for _, id := range table.Node().IDs() {
		if id.NID.IsLo() {
			continue
		}
		if self.IsValid() {
			return nid.NID{}, errNoNID
		}
		self = id.NID
	}
	if !self.IsValid() {
		return nid.NID{}, errNoNID
	}
	return self, nil
}
