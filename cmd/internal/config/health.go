package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goccy/go-yaml/token"

	"ulnet/health"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// Health is the section health of the file: the health of clients and servers. The comment of
// each field begins with its key.
type Health struct {
	Server bool // server: the node watches over clients
	Client bool // client: the node is a client

	NID     nid.NID   // nid: the NID under which this node takes part; zero: the NID of the node that is in servers, or the only NID of the node
	Servers []nid.NID // servers: NIDs; none: the participants of gossip
	At      Position  // position of the key server or client in the file

	Name      string    // name: name of the client
	Attach    []nid.NID // attach: servers to connect to besides the master
	AttachAll bool      // attach: all, which means all servers

	Records    bool          // records: connections are kept over a restart
	MaxClients int           // max_clients: bound of the connections
	MaxIDs     int           // ids_per_nid: bound of the clients of an NID
	MaxUserIDs int           // user_ids_per_nid: bound of clients whose PIDs have the userspace flag
	Balance    bool          // balance: move clients to servers with fewer
	KeyFile    string        // key_file: path of the file with keys for connects
	Keys       keyring.Keys  // keys that key_file has; none: every node may connect
	ClaimFile  string        // claim_keys: path of the file with keys that sign claims
	ClaimKeys  keyring.Keys  // keys that claim_keys has; none: servers neither sign nor check claims
	Times      health.Timing // times: T_ping, T_evict and the others
}

// maxIDs bounds ids_per_nid. For each client that connects, a server counts the clients of the
// same NID, which takes longer the more there are.
const maxIDs = 10_000

func defaultHealth() Health {
	return Health{
		Records: true, MaxClients: 200_000, MaxIDs: 4, MaxUserIDs: 64, Balance: true,
		Times: health.Timing{Ping: 5 * time.Second, Broadcast: time.Second, RTT: 100 * time.Millisecond, Tick: time.Second},
	}
}

// Enabled reports whether the node has a role.
func (h *Health) Enabled() bool { return h.Server || h.Client }

func (h *Health) settings(file string) map[string]setting {
	return map[string]setting{
		"server":           flag(&h.Server),
		"client":           flag(&h.Client),
		"nid":              oneNID(&h.NID),
		"servers":          members(&h.Servers),
		"name":             text(&h.Name, checkClientName),
		"attach":           {h.takeAttach},
		"records":          flag(&h.Records),
		"max_clients":      number(&h.MaxClients, 1, maxCount),
		"ids_per_nid":      number(&h.MaxIDs, 1, maxIDs),
		"user_ids_per_nid": number(&h.MaxUserIDs, 1, maxIDs),
		"balance":          flag(&h.Balance),
		"key_file":         keyFile(&h.KeyFile, &h.Keys, file),
		"claim_keys":       keyFile(&h.ClaimFile, &h.ClaimKeys, file),
		"times":            section(file, timeSettings(&h.Times), h.checkTimes),
	}
}

// checkSection sets At, and refuses values of the section that do not fit together.
func (h *Health) checkSection(file string, at map[string]*token.Token) error {
	switch {
	case h.Server: // if the node is both, At is the position of the key server, because a server needs more settings
		h.At = positionOf(file, at["server"])
	case h.Client:
		h.At = positionOf(file, at["client"])
	}
	for _, id := range h.Attach {
		if len(h.Servers) > 0 && !slices.Contains(h.Servers, id) {
			return errorAt(file, at["attach"], fmt.Errorf("attach: %v is none of the servers", id))
		}
	}
	return nil
}

// check refuses a role if other sections lack settings that the role needs.
func (h *Health) check(c *Config) error {
	switch {
	case h.Server && !c.Scoll.Enable:
		return h.At.Wrap(errors.New("server: a server of client health evicts over collectives: set enable: 1 in the section scoll"))
	case h.Server && len(h.Servers) == 0 && len(c.Gossip.NIDs) == 0:
		return h.At.Wrap(errors.New("server: a server of client health learns by gossip who is alive: " +
			"list the servers with nids in the section gossip, or with servers here if 'gossipctl init' is to do that"))
	case h.Client && len(h.Servers) == 0 && len(c.Gossip.NIDs) == 0:
		return h.At.Wrap(errors.New("client: list the servers that there are with servers"))
	}
	return nil
}
