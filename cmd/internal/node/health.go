package node

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/gossip"
	"ulnet/health"
	broadcast "ulnet/health/collective"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// healthLook is how often a node looks whether gossip, or its list, has changed.
const healthLook = time.Second

// healthRoles is what a node has of client health while a role is enabled: it is
// there for the node's whole life, its roles from when the servers are known.
type healthRoles struct {
	node   *Node
	cfg    config.Health
	log    *slog.Logger
	view   *healthView
	events *healthEvents
	store  *lateStore // nil: records are off
	path   string     // of the store; "": records are off

	changed chan struct{} // gossip may have changed; one place
	quit    chan struct{}
	workers sync.WaitGroup

	seen  gossipSeen // by the last sync that succeeded; owned by sync
	ready bool       // there was one; likewise
	lacks lackLog    // owned by follow

	mu      sync.Mutex
	servers []nid.NID // in force; guarded by mu, like all below
	silent  []nid.NID // those of them that do not gossip
	failure string    // of the last attempt to start a role
	server  *health.ServerAgent
	all     *broadcast.Broadcaster
	client  *health.Connection
	keys    keyring.Keys // of connects
}

// startHealth begins the roles of client health that the configuration names, as
// far as it is known who the servers are.
func (n *Node) startHealth() error {
	cfg := n.cfg.Health
	if !cfg.Enabled() {
		return nil
	}
	h := &healthRoles{
		node: n, cfg: cfg, log: n.cfg.Log, view: n.gossip.health, events: startHealthEvents(n.cfg.Log, func(e *HealthEvent) { n.handlers.Tell(e.eventName(), e) }),
		changed: make(chan struct{}, 1), quit: make(chan struct{}), keys: cfg.Keys,
	}
	if cfg.Server {
		h.openStore()
	}
	n.health = h
	if err := h.sync(); err != nil {
		return err
	}
	h.workers.Go(h.follow)
	return nil
}

// follow keeps up with gossip.
func (h *healthRoles) follow() {
	tick := time.NewTicker(healthLook)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.changed:
		case <-h.quit:
			return
		}
		h.view.look(h.node.gossip.clock.Now())
		err := h.sync()
		h.mu.Lock()
		was := h.failure
		if h.failure = ""; err != nil {
			h.failure = err.Error()
		}
		h.mu.Unlock()
		if err != nil && err.Error() != was {
			h.log.Error("client health does not start", slog.Any("err", err), slog.String("hint", cli.HintOf(err)))
		}
		h.logLack()
	}
}

// gossipChanged has the roles look at gossip soon.
func (n *Node) gossipChanged() {
	if n.scoll != nil {
		n.scoll.relist()
	}
	if n.health == nil {
		return
	}
	select {
	case n.health.changed <- struct{}{}:
	default: // it will anyhow
	}
}

// gossipSeen tells a run of gossip with one list of participants from others.
type gossipSeen struct {
	agent  *gossip.Agent
	setup  *gossipSetup
	digest string // of the list; others may have changed the one that this node was given
}

func (h *healthRoles) gossipNow() gossipSeen {
	setup, agent := h.node.gossip.now()
	seen := gossipSeen{agent: agent, setup: setup}
	if agent != nil {
		seen.digest = agent.RollStatus().Digest
	}
	return seen
}

// sync starts the roles that wait, and tells them of another list of servers. It
// is called by one goroutine at a time.
func (h *healthRoles) sync() error {
	now := h.gossipNow()
	if h.ready && now == h.seen {
		return nil
	}
	servers := h.listed(now)
	if len(servers) == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(servers, h.servers) {
		if err := h.setServers(servers); err != nil {
			return err
		}
	}
	if h.cfg.Server && len(h.cfg.Servers) > 0 && now.agent != nil {
		h.warnOfSilent(now.agent)
	}
	if h.cfg.Server && h.server == nil && now.agent != nil {
		if err := h.startServer(); err != nil {
			return err
		}
	}
	if h.cfg.Client && h.client == nil {
		if err := h.startClient(); err != nil {
			return err
		}
	}
	h.seen, h.ready = now, true
	return nil
}

// listed returns the servers: those of the configuration, or the participants of
// gossip, sorted. None: they are not known yet.
func (h *healthRoles) listed(now gossipSeen) []nid.NID {
	if len(h.cfg.Servers) > 0 {
		return slices.SortedFunc(slices.Values(h.cfg.Servers), nid.NID.Compare)
	}
	var ids []nid.NID
	switch {
	case now.agent != nil:
		s := now.agent.Status()
		for i := range s.Participants {
			ids = append(ids, s.Participants[i].NID)
		}
	case now.setup != nil:
		for i := range now.setup.list.Len() {
			ids = append(ids, now.setup.list.NID(i))
		}
	}
	slices.SortFunc(ids, nid.NID.Compare)
	return ids
}

// warnOfSilent warns of servers that do not take part in gossip: they are dead to
// this one. The caller holds h.mu.
func (h *healthRoles) warnOfSilent(agent *gossip.Agent) {
	silent := slices.DeleteFunc(slices.Clone(h.servers), func(id nid.NID) bool { _, ok := agent.Explain(id); return ok })
	if len(silent) > 0 && !slices.Equal(silent, h.silent) {
		h.log.Warn("servers of client health that are no participants of gossip count as dead: list them there, too", slog.Any("nids", silent))
	}
	h.silent = silent
}

// setServers tells the roles that run of a list. The caller holds h.mu.
func (h *healthRoles) setServers(ids []nid.NID) error {
	if h.all != nil {
		if err := h.all.SetServers(ids); err != nil {
			return &healthError{syscall.EINVAL, err}
		}
	}
	if h.server != nil {
		h.server.SetServers(ids)
	}
	if h.client != nil {
		h.client.SetServers(ids, h.attached(ids))
	}
	h.servers = ids
	return nil
}

// roles returns the roles that run, nil for those that do not.
func (h *healthRoles) roles() (*health.ServerAgent, *health.Connection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.server, h.client
}

// farewellWithin is how long a client that stops tells its servers so: three times or more
// to one that does not answer. It leaves most of what a stop may take to others.
const farewellWithin = 2 * time.Second

// farewell closes the client. Servers that do not hear of it evict it.
func (h *healthRoles) farewell(ctx context.Context, client *health.Connection) {
	ctx, cancel := context.WithTimeout(ctx, farewellWithin)
	defer cancel()
	if err := client.CloseContext(ctx); err != nil {
		h.log.Warn("client health: stopped without an answer", slog.Any("err", err))
	}
}

// close ends the roles, the client first: its servers are told. Collectives and
// gossip stop after it.
func (h *healthRoles) close(ctx context.Context) error {
	close(h.quit)
	h.workers.Wait()
	server, client := h.roles()
	if client != nil {
		h.farewell(ctx, client)
	}
	if server != nil {
		server.Stop()
	}
	if h.all != nil {
		h.all.Close()
	}
	err := h.store.close()
	h.events.close()
	if err != nil {
		return errors.Join(errors.New("close the records of connections"), err)
	}
	return nil
}
