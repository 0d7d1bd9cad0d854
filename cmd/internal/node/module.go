package node

import (
	"context"
	"log/slog"
	"slices"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/handlers"
	"ulnet/cmd/internal/statefiles"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// A Module is a protocol on a node's portal table, with its operations on the control socket.
// Every node has all modules; one that the configuration does not enable opens nothing, and
// its operations return an error. Modules that use other modules get them in
// cmd/internal/modules.
type Module interface {
	// Open starts the module as configured. The modules before it in the list are open.
	Open() error
	// Close stops the module, also after an Open that failed. An error says what is lost.
	Close(ctx context.Context) error
	// Routes are its operations on the control socket, whether the module is open or not.
	Routes() []control.Route
	// Keys is its section with key_file; nil: it has no keys, or is not running.
	Keys() *Keys
	// Files are its state files, with Dir relative to the runtime directory; nil: none.
	Files() *statefiles.Config
}

// A Host is what a node gives its modules. Modules can be made with a Config alone; Open needs
// all fields.
type Host struct {
	Config   *config.Config // configuration of the whole daemon; read-only
	Log      *slog.Logger   // log of the daemon; not nil
	Table    *portals.Table // Portals table of the node; it is closed after the modules
	Clock    machine.Clock  // advances while the system sleeps, unlike that of the table's node
	Handlers *handlers.Set  // runs programs on events of the module
}

// NIDs returns the NIDs of the node but 0@lo.
func (h *Host) NIDs() []nid.NID {
	var list []nid.NID
	for _, id := range h.Table.Node().IDs() {
		if !id.NID.IsLo() {
			list = append(list, id.NID)
		}
	}
	return list
}

// Self returns the NID that a module uses as its own. It is the NID that the module's section
// configures; without one, the node's NID that is in gossip's list; and without that, the
// node's only NID. needs begins the error if there is none, as in "gossip needs".
func (h *Host) Self(section, needs string, configured nid.NID) (nid.NID, error) {
	own := h.NIDs()
	if configured.IsValid() {
		if slices.Contains(own, configured) {
			return configured, nil
		}
		return configured, cli.Hint(cli.Errnof(syscall.EINVAL, "nid of %s: %v is no NID of this node", section, configured), "this node is %s", cli.NIDList(own))
	}
	for _, id := range own {
		if slices.Contains(h.Config.Gossip.NIDs, id) {
			return id, nil
		}
	}
	if len(own) == 1 {
		return own[0], nil
	}
	return nid.NID{}, cli.Hint(cli.Errnof(syscall.EINVAL, "%s one NID of this node, which is %s", needs, cli.NIDList(own)),
		"say which with nid in the section %s", section)
}

// Incarnation is the number of this incarnation of the node.
func (h *Host) Incarnation() uint64 { return h.Table.Node().Incarnation() }

// openModules opens the modules in their order. After an error closeModules closes those
// that were opened and the one that failed.
func (n *Node) openModules() error {
	if n.cfg.Modules == nil {
		return nil
	}
	host := Host{Config: &n.cfg.Config, Log: n.cfg.Log, Table: n.table, Clock: machine.BootClock(), Handlers: n.handlers}
	for _, m := range n.cfg.Modules(host) {
		n.modules = append(n.modules, m)
		if err := m.Open(); err != nil {
			return err
		}
	}
	return nil
}

// closeModules closes the modules, the last one first.
func (n *Node) closeModules(ctx context.Context) (errs []error) {
	for i := len(n.modules) - 1; i >= 0; i-- {
		errs = append(errs, n.modules[i].Close(ctx))
	}
	return errs
}

// StateFiles returns the state files of all modules.
func (n *Node) StateFiles() (list []statefiles.Config) {
	for _, m := range n.modules {
		if f := m.Files(); f != nil {
			list = append(list, *f)
		}
	}
	return list
}
