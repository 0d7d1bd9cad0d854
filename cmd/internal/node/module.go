package node

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/deadline"
	"ulnet/cmd/internal/handlers"
	"ulnet/cmd/internal/statefiles"
	"ulnet/cmd/internal/statelock"
	"ulnet/cmd/internal/web"
	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// A Module is a protocol on a node's portal table, with its operations on the control socket.
// Every node has all modules; a module that the configuration does not enable opens nothing, and
// its operations return an error. Package cmd/internal/modules passes to each module the other
// modules that it uses.
type Module interface {
	// Open starts the module as configured. The modules before it in the list are open.
	Open() error
	// Close stops the module, also after an Open that failed. An error tells what was lost.
	Close(ctx context.Context) error
	// Routes returns the module's operations on the control socket, even if the module is not open.
	Routes() []control.Route
	// Keys returns the module's section with key_file; nil: the module has no keys, or is not
	// running.
	Keys() *Keys
	// Files returns the module's state files, with Dir relative to the runtime directory; nil:
	// none.
	Files() *statefiles.Config
}

// A Host is what a node provides to its modules. A module can be made with only the Config; Open
// needs all fields.
type Host struct {
	Config     *config.Config       // configuration of the whole daemon; read-only
	Log        *slog.Logger         // log of the daemon; not nil
	Table      *portals.Table       // Portals table of the node; it is closed after the modules
	Clock      machine.Clock        // goes on while the system sleeps, unlike the clock of the table's node
	Handlers   *handlers.Set        // runs programs on events of the module
	Tap        lnd.Tap              // gets a copy of all messages; nil: nothing is captured
	NodeStatus func() Status        // returns the state of the node
	NodeRoutes func() []RouteStatus // returns the routes of the node, and their states

	// State is the lock on the state directory; nil: it is not locked. Modules call its method Hold before they
	// write to the directory, which may have been made after the daemon has started.
	State   *statelock.Lock
	Sockets web.Sockets // makes the listening sockets of modules; nil: new sockets

	Alive func(context.Context) error // returns nil if the node works; may never return
}

// NIDs returns the NIDs of the node, except 0@lo.
func (h *Host) NIDs() []nid.NID {
	var list []nid.NID
	for _, id := range h.Table.Node().IDs() {
		if !id.NID.IsLo() {
			list = append(list, id.NID)
		}
	}
	return list
}

// Self returns the NID that a module uses as its own: the NID that the module's section configures, or else a
// NID of this node that is in the list of gossip, or else the node's only NID. If none of these exists, Self
// returns an error that begins with the text needs, such as "gossip needs". A configured NID that is no NID of
// this node is an error, too.
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
	host := Host{Config: &n.cfg.Config, Log: n.cfg.Log, Table: n.table, Clock: machine.BootClock(), Handlers: n.handlers, Tap: n.cfg.Tap, NodeStatus: n.Status, NodeRoutes: n.RoutesNow, State: n.cfg.State, Sockets: n.cfg.Sockets, Alive: n.Alive}
	for _, m := range n.cfg.Modules(host) {
		n.modules = append(n.modules, m)
		if err := m.Open(); err != nil {
			return err
		}
	}
	return nil
}

// closeSlack is how long closeModules waits for a module beyond the module's share of the time. That share
// counts as a second at least, because the module of multicast needs a second to leave its groups.
const closeSlack = 250 * time.Millisecond

// closeModules closes the modules, the last one first. Each may take half of the time that is left until
// the deadline of ctx, so that there is time for the others, and for messages in queues. closeModules does
// not wait for a module that does not close, such as one whose lock is held by an operation on a disk that
// does not answer.
func (n *Node) closeModules(ctx context.Context) (errs []error) {
	for _, m := range slices.Backward(n.modules) {
		errs = append(errs, closeModule(ctx, m))
	}
	return errs
}

func closeModule(ctx context.Context, m Module) error {
	at, bounded := ctx.Deadline()
	if !bounded {
		return m.Close(ctx)
	}
	share, cancel := context.WithTimeout(ctx, time.Until(at)/2)
	defer cancel()
	late, cancelLate := context.WithTimeout(context.WithoutCancel(ctx), max(time.Until(at)/2, time.Second)+closeSlack)
	defer cancelLate()
	var err error
	if stuck := deadline.Wait(late, func() { err = m.Close(share) }); stuck != nil {
		return fmt.Errorf("%T is not closed: %w", m, stuck) // without err, which Close may still set
	}
	return err
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
