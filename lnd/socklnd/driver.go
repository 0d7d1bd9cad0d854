package socklnd

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"

	"ulnet/lnd"
	"ulnet/lnd/internal/shell"
	"ulnet/lnd/readloop"
	"ulnet/lnet/nid"
)

// Driver makes NIs on TCP. Those that it makes on one address, for several
// nets, share one listener; NIs of different drivers cannot share an address
// and port.
type Driver struct {
	cfg       Config
	acceptors acceptors
	watchdog  readloop.Watchdog
	polling   polling
}

var _ lnd.Driver = (*Driver)(nil)

// New returns a driver with the given tunables. The error wraps errConfig.
func New(cfg Config) (*Driver, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Driver{
		cfg:       cfg.withDefaults(),
		acceptors: acceptors{byAddr: make(map[netip.Addr]*acceptor)},
		polling:   polling{limit: cfg.BusyPoll},
		watchdog:  readloop.Watchdog{Absence: maxAbsence},
	}, nil
}

// Type implements lnd.Driver.
func (d *Driver) Type() nid.NetType { return nid.TCP }

// Config returns the tunables with their defaults filled in, except SockTimeout and ConnsPerPeer,
// whose defaults depend on the NI: see Snapshot.
func (d *Driver) Config() Config { return d.cfg }

// Startup implements lnd.Driver. cfg.Interface is an IPv4 or IPv6 address, or the name of an
// interface, whose first IPv4 address is taken, or else its first IPv6 address that is not
// link-local. Startup fails if there is no address, if the accept port cannot be bound, or if the
// driver has an NI of this net and address already.
func (d *Driver) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	addr, err := chooser.Choose(cfg.Interface)
	if err != nil {
		return nil, err
	}
	own, err := d.cfg.override(cfg.LND)
	if err != nil {
		return nil, err
	}
	log := cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	id := nid.FromAddr(cfg.Net, addr)
	ni := &NI{
		cfg: own.forNI(addr, cfg.Tunables.Timeout), acceptors: &d.acceptors, watchdog: &d.watchdog, polling: &d.polling, nid: id, pid: cmp.Or(cfg.PID, nid.LustrePID), addr: addr,
		incarnation: cfg.Incarnation, clock: cfg.Clock, up: up, tap: cfg.Tap,
		log: log.With("ni", id),
	}
	ni.peers.Init(shell.PeersConfig[nid.ProcessID, peer]{
		Clock: cfg.Clock, Interval: ni.scanInterval, Scan: ni.scan, Make: func(id nid.ProcessID) *peer { return newPeer(ni, id) },
	})
	ni.inline, _ = up.(lnd.InlineUpcalls)
	ni.messages.Init()
	ni.dials.Init()
	ni.spoilSum.Store(own.InjectChecksumError)
	ni.patience.Init(ni.cfg.SockTimeout, own.SockTimeout != 0)
	ni.cast.init(ni)
	ni.ctx, ni.cancel = context.WithCancel(context.Background())
	if d.cfg.Accept == AcceptNone {
		return ni, nil
	}
	if err := d.acceptors.join(ni); err != nil {
		ni.cancel()
		return nil, err
	}
	return ni, nil
}
