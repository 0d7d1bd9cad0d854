package node

import (
	"context"
	"errors"
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

// noHealth is the error of a node without a role.
func noHealth(what, key string) error {
	return cli.Hint(&healthError{syscall.ESRCH, errors.New("this node is no " + what + " of client health")},
		"set %s: 1 in the section health of the configuration of lnetd, and start it again", key)
}

// HealthStatus returns what is known of client health. ESRCH: this node takes no part.
func (n *Node) HealthStatus() (HealthStatus, error) {
	return HealthStatus{}, noHealth("server or client", "server")
}

// HealthClients lists clients of this server.
func (n *Node) HealthClients(HealthFilter) (HealthClients, error) {
	return HealthClients{}, noHealth("server", "server")
}

// HealthClient returns one client of this server, by its id or its name. ENOENT:
// there is none; EINVAL: several have the name.
func (n *Node) HealthClient(string) (health.ClientInfo, error) {
	return health.ClientInfo{}, noHealth("server", "server")
}

// HealthServers lists the servers as this one knows them.
func (n *Node) HealthServers() ([]HealthPeer, error) { return nil, noHealth("server", "server") }

// HealthEvict has a client evicted from all servers.
func (n *Node) HealthEvict(context.Context, HealthEvict) (HealthEvicted, error) {
	return HealthEvicted{}, noHealth("server", "server")
}

// HealthDrain has all clients choose other masters, or takes that back.
func (n *Node) HealthDrain(HealthDrain) error { return noHealth("server", "server") }
