package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/health"
)

// healthError is what is wrong with a command, as an errno too.
type healthError struct {
	errno syscall.Errno
	err   error
}

func (e *healthError) Error() string   { return e.err.Error() }
func (e *healthError) Unwrap() []error { return []error{e.errno, e.err} }

func healthFailure(errno syscall.Errno, format string, args ...any) error {
	return &healthError{errno, fmt.Errorf(format, args...)}
}

// noHealth is the error of a node without a role.
func noHealth(what, key string) error {
	return cli.Hint(&healthError{syscall.ESRCH, errors.New("this node is no " + what + " of client health")},
		"set %s: 1 in the section health of the configuration of lnetd, and start it again", key)
}

// healthServer returns the server role, which runs. ESRCH: this node has none;
// EAGAIN: it waits.
func (n *Node) healthServer() (*health.ServerAgent, error) {
	if n.health == nil || !n.health.cfg.Server {
		return nil, noHealth("server", "server")
	}
	agent, _ := n.health.roles()
	if agent == nil {
		n.health.mu.Lock()
		failure := n.health.failure
		n.health.mu.Unlock()
		if failure != "" {
			return nil, cli.Hint(healthFailure(syscall.EAGAIN, "client health does not start: %s", failure), "see the log of lnetd")
		}
		return nil, cli.Hint(healthFailure(syscall.EAGAIN, "client health waits for gossip, which says what servers are alive"),
			"'gossipctl start' starts it")
	}
	return agent, nil
}

// HealthClients lists clients of this server, by their ids. Errors: ESRCH and
// EAGAIN, as of all that asks the server role: there is none, or it waits for
// gossip. EINVAL: the limit cannot be.
func (n *Node) HealthClients(f HealthFilter) (HealthClients, error) {
	agent, err := n.healthServer()
	if err != nil {
		return HealthClients{}, err
	}
	if f.Limit < 0 || f.Limit > MaxHealthLimit {
		return HealthClients{}, healthFailure(syscall.EINVAL, "limit %d: want 0 to %d", f.Limit, MaxHealthLimit)
	}
	if f.Limit == 0 {
		f.Limit = DefaultHealthLimit
	}
	var list HealthClients
	list.Clients, list.Matching = agent.List(f.Limit, func(c *health.ClientInfo) bool {
		return (f.State == "" || c.State == f.State) && (!f.Master.IsValid() || c.Master == f.Master) && (!f.NID.IsValid() || c.Peer.NID == f.NID)
	})
	list.More = list.Matching > len(list.Clients)
	return list, nil
}

// HealthClient returns one client of this server, by its id or its name. ENOENT:
// there is none; EINVAL: several have the name, or there is none to look for.
func (n *Node) HealthClient(idOrName string) (health.ClientInfo, error) {
	agent, err := n.healthServer()
	if err != nil {
		return health.ClientInfo{}, err
	}
	if idOrName == "" {
		return health.ClientInfo{}, healthFailure(syscall.EINVAL, "say which client, by its id or its name")
	}
	if id, err := health.ParseClientID(idOrName); err == nil {
		if info, ok := agent.Client(id); ok {
			return info, nil
		}
	}
	found, count := agent.List(1, func(c *health.ClientInfo) bool { return c.Name == idOrName })
	switch count {
	case 0:
		return health.ClientInfo{}, cli.Hint(healthFailure(syscall.ENOENT, "no client %q is connected here", idOrName),
			"'lnetctl client list' lists those that are")
	case 1:
		return found[0], nil
	}
	return health.ClientInfo{}, cli.Hint(healthFailure(syscall.EINVAL, "%d clients are called %q", count, idOrName),
		"name one by its id, such as %v", found[0].Client)
}

// HealthServers lists the servers as this one knows them, by NID.
func (n *Node) HealthServers() ([]HealthPeer, error) {
	agent, err := n.healthServer()
	if err != nil {
		return nil, err
	}
	h, status := n.health, agent.Status()
	h.mu.Lock()
	servers := slices.Clone(h.servers)
	h.mu.Unlock()
	of, drain := agent.Masters(), agent.Draining()
	var list []HealthPeer
	for _, id := range servers {
		p := HealthPeer{NID: id, Self: id == status.Self, Clients: of[id]}
		if p.Alive, p.Lifetimes = h.view.Alive(id); p.Self {
			p.Alive, p.Draining = true, &status.Draining
		} else if yes := slices.Contains(drain, id); yes {
			p.Draining = &yes
		}
		list = append(list, p)
	}
	return list, nil
}

// HealthEvict has a client evicted from all servers. EINVAL: none is named.
// ECANCELED: the node is going down, or ctx has ended.
func (n *Node) HealthEvict(ctx context.Context, r HealthEvict) (HealthEvicted, error) {
	agent, err := n.healthServer()
	if err != nil {
		return HealthEvicted{}, err
	}
	if !r.Client.IsValid() {
		return HealthEvicted{}, healthFailure(syscall.EINVAL, "say which client, by its id")
	}
	done := make(chan HealthEvicted, 1)
	agent.Evict(r.Client, func(e health.EvictResult) { done <- HealthEvicted{r.Client, e.Code, e.Master, e.Incarnation} })
	select {
	case reply := <-done:
		return reply, nil
	case <-n.health.quit:
	case <-ctx.Done():
	}
	return HealthEvicted{}, cli.Hint(healthFailure(syscall.ECANCELED, "given up: lnetd is stopping, or nobody waits for it any longer"),
		"the client may be evicted all the same")
}

// HealthDrain has all clients choose other masters, and takes none as its master,
// or takes that back. It lasts until the node ends. EBUSY: no other server takes them.
func (n *Node) HealthDrain(r HealthDrain) error {
	agent, err := n.healthServer()
	if err != nil {
		return err
	}
	if err := agent.Drain(r.On, r.Force); err != nil {
		return cli.Hint(&healthError{syscall.EBUSY, err},
			"'lnetctl server undrain' at one of the others first; with '--force' the clients stay with this server, until another takes them")
	}
	n.cfg.Log.Info("client health: drain", "on", r.On, "force", r.Force)
	return nil
}
