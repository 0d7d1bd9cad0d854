package health

import (
	"cmp"
	"fmt"
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
	// Self is this server's NID, one of its node. The default is the NID of the node, if the node has only one.
	Self nid.NID
	// PID is the PID of all servers. The default is that of the node.
	PID nid.PID
	// Incarnation is the number of this incarnation of the server, higher than those of earlier
	// ones. The server refuses clients whose incarnation number is more than a year ahead of that
	// number. The default is that of the node.
	Incarnation uint64
	// Servers are all servers of the cluster, this one included. Required.
	Servers []nid.NID
	Timing
	// ClaimKeys, if there are any, are the keys with which a master signs the statement that it
	// is the client's master. The client shows that signature to other servers when it names
	// its master (CH-44). All servers have the same keys.
	ClaimKeys keyring.Keys
	// Keys, if there are any, verify connect requests: the client must have signed the request with
	// one of them. Clients and servers have the same keys. [ServerAgent.SetKeys] changes them.
	Keys keyring.Keys
	// MaxClients bounds the number of connections. Default 200 000.
	MaxClients int
	// MaxIDs bounds the clients that one NID may have. MaxUserIDs bounds those of the NID's user
	// processes, whose PIDs have the bit nid.UserPID. Defaults 4 and 64.
	MaxIDs, MaxUserIDs int
	// Uneven turns load balancing off: this server does not ask its clients to choose a server
	// that has far fewer clients.
	Uneven bool

	View        View        // required
	Broadcaster Broadcaster // required
	Store       Store       // nil: no record survives a restart
	// Wall returns the wall clock, for tombstones in the Store and the times of History.
	// Required with a Store.
	Wall func() time.Time
	// Export returns data of the program that is stored in the record of a connection. May be nil.
	Export func(id ClientID, incarnation uint64) []byte
	// Recovered is called after a restart with each stored record, including the data of Export.
	// May be nil.
	Recovered func(r *Record)
	// Notify is called with each event, in order. It must not block. May be nil.
	Notify func(Event)
	Log    *slog.Logger  // nil: nothing is logged
	Clock  machine.Clock // default: that of the node; machine.BootClock also counts the time for which the system was suspended
}

// Engine returns the configuration of the machine that an agent with this configuration has.
func (c AgentConfig) Engine() engine.ServerConfig {
	return engine.ServerConfig{
		Self: c.Self, PID: c.PID, Incarnation: c.Incarnation, Servers: c.Servers, Timing: c.Timing, ClaimKeys: c.ClaimKeys, Keys: c.Keys,
		MaxClients: c.MaxClients, MaxIDs: c.MaxIDs, MaxUserIDs: c.MaxUserIDs, Uneven: c.Uneven,
	}
}

// fill sets the defaults that come from the node.
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
	// ID identifies the client over all its incarnations. The default is derived from the
	// node's NID and PID, so that a node is the same client after a restart.
	ID ClientID
	// Incarnation is the number of this incarnation, higher than those of earlier ones. The default
	// is that of the node.
	Incarnation uint64
	// Name is a name for people to read: at most 255 bytes, printable.
	Name string
	// Servers are all servers of the cluster. They are not modified. Required.
	Servers []nid.NID
	// PID is the PID of all servers. The default is that of the node.
	PID nid.PID
	Timing
	// Seed, together with ID, seeds the random choice of masters and the jitter.
	Seed uint64
	// Keys, if there are any, sign connect requests: servers with keys accept no unsigned ones.
	// Servers of versions before 2026-11-25 do not understand signed ones.
	Keys keyring.Keys

	// Self is the NID of the node to send from. The default is the NID of the node, if the node has only one.
	Self nid.NID
	// Attach are servers that the client always connects to, in addition to the master.
	Attach []nid.NID
	// Notify is called with each event, in order. It must not block. May be nil.
	Notify func(ClientEvent)
	Log    *slog.Logger  // nil: nothing is logged
	Clock  machine.Clock // nil: the clock of the node
}

// Engine returns the configuration of the machine that a connection with this configuration has.
func (c DialConfig) Engine() engine.ClientConfig {
	return engine.ClientConfig{
		ID: c.ID, Incarnation: c.Incarnation, Name: c.Name, Servers: c.Servers, PID: c.PID, Timing: c.Timing, Seed: c.Seed, Keys: c.Keys,
	}
}

// fill sets the defaults that come from the node.
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

// selfOf returns the NID under which a node takes part: the configured one, or its only one.
func selfOf(table *portals.Table, self nid.NID) (nid.NID, error) {
	id, ok := table.SelfOf(self)
	switch {
	case ok:
		return id, nil
	case self.IsValid():
		return nid.NID{}, &Error{Why: fmt.Sprintf("%v is no NID of this node: %s", self, errNoNID.Why)}
	}
	return nid.NID{}, errNoNID
}
