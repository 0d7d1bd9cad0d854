// Package health is the module of client health: the server and client roles of a node. Gossip
// reports which servers are alive, and collectives broadcast the evictions.
package health

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	scollmod "ulnet/cmd/internal/modules/scoll"
	"ulnet/cmd/internal/node"
	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/health"
	broadcast "ulnet/health/collective"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
	"ulnet/scoll"
)

// healthLook is the interval in which a node checks whether gossip or its list has changed.
const healthLook = time.Second

// Gossip is the part of the gossip module that client health needs.
type Gossip interface {
	Now() (participants *engine.List, agent *gossip.Agent) // the list is nil before init; the agent is nil unless gossip runs
	Follow(begins func(*gossip.Agent), ends func())
	OnChange(func()) // calls a function when the participants change
}

// Collectives is the part of the module of collectives that client health needs.
type Collectives interface {
	Agent() *scoll.Agent
	Inquire(ctx context.Context, name, origin string, servers []nid.NID, order admin.Order) (*scollmod.Inquiry, error)
	AnswerClients(may func(root, parent nid.NID) bool, answer func(query []byte, room int) ([]byte, scoll.Status))
}

// Module is client health at a node.
type Module struct {
	node.Host
	gossip Gossip
	scoll  Collectives
	roles  *roles // nil: no role is configured
}

// New returns the module of a node.
func New(host node.Host, g Gossip, c Collectives) *Module {
	m := &Module{Host: host, gossip: g, scoll: c}
	c.AnswerClients(m.mayAsk, m.answerClients)
	if cfg := host.Config.Health; cfg.Enabled() {
		m.roles = &roles{
			m: m, cfg: cfg, open: openBolt, log: host.Log, keys: cfg.Keys, changed: make(chan struct{}, 1), quit: make(chan struct{}),
			view: newView(cfg.Servers, func(id nid.NID) bool { return slices.Contains(m.NIDs(), id) }),
		}
		g.Follow(m.roles.view.attach, m.roles.view.Detach)
		g.OnChange(m.roles.gossipChanged)
	}
	return m
}

// Routes returns the operations of client health.
func (m *Module) Routes() []control.Route {
	return []control.Route{
		OpStatus.Do(control.Ask(m.Status)), OpClients.Do(control.Quick(m.Clients)),
		OpClient.Do(control.Quick(func(r ClientName) (health.ClientInfo, error) { return m.Client(r.Client) })),
		OpServers.Do(control.Ask(m.Servers)), OpEverywhere.Do(m.Everywhere),
		OpHistory.Do(control.Quick(m.History)), OpTombstones.Do(control.Quick(m.Tombstones)),
		OpEviction.Do(control.Quick(m.Eviction)), OpEvict.Do(m.Evict), OpDrain.Do(control.Act(m.Drain)),
	}
}

// roles has the configured roles of a node. It exists for the node's whole lifetime; a role starts
// when the servers are known.
type roles struct {
	m      *Module
	cfg    config.Health
	log    *slog.Logger
	view   *view
	events *events
	store  *lateStore // store of records; nil: records are off
	path   string     // path of the store; "": records are off
	open   func(path string, log *slog.Logger) (recordStore, error)

	changed chan struct{} // has a token if gossip may have changed; capacity 1
	quit    chan struct{}
	workers sync.WaitGroup

	seen  gossipSeen // state of gossip when the method sync last succeeded; owned by sync
	ready bool       // the method sync has succeeded once; owned by sync
	lacks lackLog    // limits the log lines about a missing quorum; owned by the method follow

	mu      sync.Mutex
	servers []nid.NID // servers at present; guarded by mu, like all below
	silent  []nid.NID // servers that take no part in gossip
	closed  bool      // no role starts any more
	failure string    // why a role could not be started; "": none has failed
	server  *health.ServerAgent
	all     *broadcast.Broadcaster
	client  *health.Connection
	keys    keyring.Keys // keys that sign and verify connect requests
}

// Open starts the configured roles, if the servers are known already.
func (m *Module) Open() error {
	h := m.roles
	if h == nil {
		return nil
	}
	h.events = startEvents(m.Log, func(e *Event) { m.Handlers.Tell(e.eventName(), e) })
	if h.cfg.Server {
		if err := h.openStore(); err != nil {
			return err
		}
	}
	if err := h.sync(); err != nil {
		return err
	}
	h.workers.Go(h.follow)
	return nil
}

// follow starts the roles of client health that wait for gossip, and keeps the list of servers up to date. It looks
// each healthLook, and at once when the module of gossip has been started, stopped or changed.
func (h *roles) follow() {
	tick := time.NewTicker(healthLook)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.changed:
		case <-h.quit:
			return
		}
		h.view.look()
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

// gossipChanged wakes the goroutine of follow.
func (h *roles) gossipChanged() {
	select {
	case h.changed <- struct{}{}:
	default: // the goroutine of follow has a token already
	}
}

// gossipSeen identifies a run of gossip and its list of participants.
type gossipSeen struct {
	agent  *gossip.Agent
	list   *engine.List
	digest string // digest of the list of participants, which other nodes may have changed
}

func (h *roles) gossipNow() gossipSeen {
	list, agent := h.m.gossip.Now()
	seen := gossipSeen{agent: agent, list: list}
	if agent != nil {
		seen.digest = agent.RollStatus().Digest
	}
	return seen
}

// sync starts roles that wait for gossip, and gives running roles the list of servers if it has
// changed. Only one goroutine at a time calls it.
func (h *roles) sync() error {
	now := h.gossipNow()
	if h.ready && now == h.seen {
		return nil
	}
	servers := h.listed(now)
	if len(servers) == 0 {
		return nil
	}
	if h.cfg.Server && h.server == nil && now.agent != nil { // read without h.mu, because only sync writes h.server
		h.store.fetch() // without h.mu, because fetch may wait for the disk
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
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

// listed returns the servers in order: those of the configuration, or the participants of
// gossip. It returns nil while the participants are not known.
func (h *roles) listed(now gossipSeen) []nid.NID {
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
	case now.list != nil:
		ids = now.list.NIDs()
	}
	slices.SortFunc(ids, nid.NID.Compare)
	return ids
}

// warnOfSilent warns of servers that take no part in gossip: for this server they count as dead.
// The caller holds h.mu.
func (h *roles) warnOfSilent(agent *gossip.Agent) {
	silent := slices.DeleteFunc(slices.Clone(h.servers), func(id nid.NID) bool { _, ok := agent.Explain(id); return ok })
	if len(silent) > 0 && !slices.Equal(silent, h.silent) {
		h.log.Warn("servers of client health that are no participants of gossip count as dead: list them there, too", slog.Any("nids", silent))
	}
	h.silent = silent
}

// setServers gives running roles a list of servers. The caller holds h.mu.
func (h *roles) setServers(ids []nid.NID) error {
	if h.all != nil {
		if err := h.all.SetServers(ids); err != nil {
			return cli.Errno(syscall.EINVAL, err)
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

// roles returns the roles that run: the server and the client, nil for a role that does not run.
func (h *roles) roles() (*health.ServerAgent, *health.Connection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.server, h.client
}
