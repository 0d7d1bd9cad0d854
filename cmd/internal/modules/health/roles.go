package health

import (
	"log/slog"
	"slices"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/gossip"
	"ulnet/health"
	broadcast "ulnet/health/collective"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// self returns the NID under which the node has its roles. The caller holds h.mu.
func (h *roles) self() (nid.NID, error) {
	own := h.m.NIDs()
	if id := h.cfg.NID; id.IsValid() {
		if !slices.Contains(own, id) {
			return id, cli.Hint(cli.Errnof(syscall.EINVAL, "nid of health: %v is no NID of this node", id), "this node is %s", cli.NIDList(own))
		}
		own = []nid.NID{id}
	}
	if i := slices.IndexFunc(own, func(id nid.NID) bool { return slices.Contains(h.servers, id) }); i >= 0 {
		return own[i], nil
	}
	if h.cfg.Server {
		return nid.NID{}, cli.Hint(cli.Errnof(syscall.EINVAL, "no NID of this node is among the servers of client health"),
			"this node is %s: add one of its NIDs to servers in the section health, or to the participants of gossip, on all nodes", cli.NIDList(own))
	}
	if len(own) != 1 {
		return nid.NID{}, cli.Hint(cli.Errnof(syscall.EINVAL, "client health needs one NID of this node, which is %s", cli.NIDList(own)),
			"say which with nid in the section health")
	}
	return own[0], nil
}

// startServer starts the server role. The caller holds h.mu.
func (h *roles) startServer() error {
	self, err := h.self()
	if err != nil {
		return err
	}
	if h.all == nil {
		h.all, err = broadcast.New(broadcast.Config{
			Agent: h.m.scoll.Agent(), Servers: h.servers, Tree: h.m.Config.Scoll.Tree, Processing: h.cfg.Times.Broadcast,
			Clock: h.m.Table.Node().Clock(), Log: h.log,
		})
		if err != nil {
			return err
		}
	}
	cfg := health.AgentConfig{
		Self: self, Servers: h.servers, Timing: h.cfg.Times, MaxClients: h.cfg.MaxClients,
		MaxIDs: h.cfg.MaxIDs, MaxUserIDs: h.cfg.MaxUserIDs, Uneven: !h.cfg.Balance, Keys: h.keys, ClaimKeys: h.cfg.ClaimKeys,
		View: h.view, Broadcaster: h.all, Wall: time.Now, Notify: h.events.ofServer, Log: h.log, Clock: h.m.Clock,
	}
	cfg.Store = h.records()
	if h.server, err = health.StartServer(h.m.Table, cfg); err != nil {
		h.server = nil
		return err
	}
	if _, agent := h.m.gossip.Now(); agent != nil {
		h.warnOfSlow(agent.Status())
	}
	h.log.Info("client health starts", slog.Any("nid", self), slog.Int("servers", len(h.servers)), slog.Int("clients", h.server.Status().Clients))
	return nil
}

// warnOfSlow warns if gossip is too slow. A server that is cut off would then evict clients that
// others have taken over, and these evictions would be final before gossip has reported that the
// server is cut off.
func (h *roles) warnOfSlow(s gossip.Status) {
	t, _ := h.cfg.Times.Filled() // cannot fail: the configuration was checked
	if notices := time.Duration(s.Threshold+1) * s.Interval; notices >= 3*t.Evict-t.Ping {
		h.log.Warn("gossip is much slower than evictions: a server that is cut off evicts clients of others before it notices",
			slog.Duration("gossip", notices), slog.Duration("eviction", 3*t.Evict-t.Ping),
			slog.String("hint", "shorten interval in the section gossip, or lengthen evict in times of the section health, on all servers"))
	}
}

// startClient starts the client role. The caller holds h.mu.
func (h *roles) startClient() error {
	self, err := h.self()
	if err != nil {
		return err
	}
	c, err := health.Dial(h.m.Table, health.DialConfig{
		Name: h.cfg.Name, Servers: h.servers, Timing: h.cfg.Times, Seed: h.m.Incarnation(), Keys: h.keys,
		Self: self, Attach: h.attached(h.servers), Notify: h.events.ofClient, Log: h.log, Clock: h.m.Clock,
	})
	if err == nil {
		h.client = c
		h.log.Info("client of client health starts", slog.Any("nid", self), slog.Any("client", c.Status().Client), slog.Int("servers", len(h.servers)))
	}
	return err
}

// attached returns the servers that the client connects to in addition to its master.
func (h *roles) attached(all []nid.NID) []nid.NID {
	if h.cfg.AttachAll {
		return all
	}
	return h.cfg.Attach
}

// Keys returns the keys of the section health.
func (m *Module) Keys() *node.Keys {
	if m.roles == nil || m.roles.cfg.KeyFile == "" {
		return nil
	}
	return &node.Keys{Section: "health", File: m.roles.cfg.KeyFile, Set: m.roles.setKeys, Count: m.roles.countKeys}
}

// setKeys changes the keys for connect requests, in running roles and in roles that start later.
func (h *roles) setKeys(keys keyring.Keys) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keys = keys
	if h.server != nil {
		if err := h.server.SetKeys(keys); err != nil {
			return err
		}
	}
	if h.client != nil {
		return h.client.SetKeys(keys)
	}
	return nil
}

// countKeys adds to k how many connect requests the server has verified with each key. Clients
// only sign.
func (h *roles) countKeys(k *node.KeysStatus) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k.Keys = h.keys.Len(); h.server != nil {
		s := h.server.Status()
		k.Verified, k.Refused = s.Verified, h.server.Stats().Rejected[health.OtherKey]
	}
}
