package health

import (
	"context"
	"errors"
	"slices"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/health"
)

// noHealth returns the error of a node that has no role in client health.
func noHealth(what, key string) error {
	return cli.Hint(cli.Errno(syscall.ESRCH, errors.New("this node is no "+what+" of client health")),
		"set %s: 1 in the section health of the configuration of lnetd, and start it again", key)
}

// server returns the running server role. Errors: ESRCH if this node has none, EAGAIN if the
// role waits for gossip.
func (m *Module) server() (*health.ServerAgent, error) {
	if m.roles == nil || !m.roles.cfg.Server {
		return nil, noHealth("server", "server")
	}
	agent, _ := m.roles.roles()
	if agent == nil {
		m.roles.mu.Lock()
		failure := m.roles.failure
		m.roles.mu.Unlock()
		if failure != "" {
			return nil, cli.Hint(cli.Errnof(syscall.EAGAIN, "client health does not start: %s", failure), "see the log of lnetd")
		}
		return nil, cli.Hint(cli.Errnof(syscall.EAGAIN, "client health waits for gossip, which says what servers are alive"),
			"'gossipctl start' starts it")
	}
	return agent, nil
}

// listing returns the server role if the filter is valid.
func (m *Module) listing(filter interface{ Check() error }) (*health.ServerAgent, error) {
	agent, err := m.server()
	if err != nil {
		return nil, err
	}
	if err := filter.Check(); err != nil {
		return nil, cli.Errno(syscall.EINVAL, err)
	}
	return agent, nil
}

// Clients returns clients of this server, ordered by id. The errors of all requests to the
// server role are ESRCH if the node does not have that role, and EAGAIN if the role waits for
// gossip. EINVAL: the limit is invalid.
func (m *Module) Clients(f ClientFilter) (list ClientList, err error) {
	agent, err := m.listing(&f)
	if err != nil {
		return list, err
	}
	list.Clients, list.Matching = agent.List(limitOf(f.Limit), func(c *health.ClientInfo) bool {
		return (f.State == "" || c.State == f.State) && (!f.Master.IsValid() || c.Master == f.Master) && (!f.NID.IsValid() || c.Peer.NID == f.NID)
	})
	list.More = list.Matching > len(list.Clients)
	return list, nil
}

// Client returns one client of this server, by its id or its name. Errors: ENOENT if there is
// none, EINVAL if several clients have that name, or idOrName is empty.
func (m *Module) Client(idOrName string) (health.ClientInfo, error) {
	agent, err := m.server()
	if err != nil {
		return health.ClientInfo{}, err
	}
	if idOrName == "" {
		return health.ClientInfo{}, cli.Errnof(syscall.EINVAL, "say which client, by its id or its name")
	}
	if id, err := health.ParseClientID(idOrName); err == nil {
		if info, ok := agent.Client(id); ok {
			return info, nil
		}
	}
	found, count := agent.List(1, func(c *health.ClientInfo) bool { return c.Name == idOrName })
	switch count {
	case 0:
		return health.ClientInfo{}, cli.Hint(cli.Errnof(syscall.ENOENT, "no client %q is connected here", idOrName),
			"'lnetctl client list' lists those that are")
	case 1:
		return found[0], nil
	}
	return health.ClientInfo{}, cli.Hint(cli.Errnof(syscall.EINVAL, "%d clients are called %q", count, idOrName),
		"name one by its id, such as %v", found[0].Client)
}

// Servers returns what this server knows of all servers, ordered by NID.
func (m *Module) Servers() ([]Peer, error) {
	agent, err := m.server()
	if err != nil {
		return nil, err
	}
	h, status := m.roles, agent.Status()
	h.mu.Lock()
	servers := slices.Clone(h.servers)
	h.mu.Unlock()
	of, drain := agent.Masters(), agent.Draining()
	var list []Peer
	for _, id := range servers {
		p := Peer{NID: id, Self: id == status.Self, Clients: of[id]}
		if p.Alive, p.Lifetimes = h.view.Alive(id); p.Self {
			p.Alive, p.Draining = true, &status.Draining
		} else if yes := slices.Contains(drain, id); yes {
			p.Draining = &yes
		}
		list = append(list, p)
	}
	return list, nil
}

// Evict orders the eviction of a client from all servers. Errors: EINVAL if no client is named,
// ECANCELED if the node is stopping or ctx has ended.
func (m *Module) Evict(ctx context.Context, r EvictRequest) (EvictReply, error) {
	agent, err := m.server()
	if err != nil {
		return EvictReply{}, err
	}
	if !r.Client.IsValid() {
		return EvictReply{}, cli.Errnof(syscall.EINVAL, "say which client, by its id")
	}
	done := make(chan EvictReply, 1)
	agent.Evict(r.Client, func(e health.EvictResult) { done <- EvictReply{r.Client, e.Code, e.Master, e.Incarnation} })
	select {
	case reply := <-done:
		return reply, nil
	case <-m.roles.quit:
	case <-ctx.Done():
	}
	return EvictReply{}, cli.Hint(cli.Errnof(syscall.ECANCELED, "given up: lnetd is stopping, or nobody waits for it any longer"),
		"the client may be evicted all the same")
}

// Drain begins draining if r.On is set: all clients choose other masters, and this server refuses to
// become a master. Otherwise Drain ends draining, which would last until the node ends. The error
// is EBUSY if no other server takes clients, and EAGAIN if the server stops at the moment.
func (m *Module) Drain(r DrainRequest) error {
	agent, err := m.server()
	if err != nil {
		return err
	}
	if err := agent.Drain(r.On, r.Force); errors.Is(err, health.ErrClosed) {
		return cli.Errno(syscall.EAGAIN, err)
	} else if err != nil {
		return cli.Hint(cli.Errno(syscall.EBUSY, err),
			"'lnetctl server undrain' at one of the others first; with '--force' the clients stay with this server, until another takes them")
	}
	m.Log.Info("client health: drain", "on", r.On, "force", r.Force)
	return nil
}
