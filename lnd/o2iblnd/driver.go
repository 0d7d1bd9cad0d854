package o2iblnd

import (
	"log/slog"
	"net/netip"
	"sync"

	"ulnet/lnd"
	"ulnet/lnd/internal/shell"
	"ulnet/lnet/nid"
)

// Driver makes NIs on RDMA. Those that it makes on one address, for several nets, share
// a device and a listener; NIs of different drivers cannot share an address and service.
type Driver struct {
	cfg Config

	mu        sync.Mutex // held while an NI starts or ends; no upcall takes it
	acceptors map[netip.Addr]*acceptor
}

var _ lnd.Driver = (*Driver)(nil)

// New returns a driver with the given tunables, or an errConfig.
func New(cfg Config) (*Driver, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Driver{cfg: cfg.withDefaults(), acceptors: make(map[netip.Addr]*acceptor)}, nil
}

// Type implements lnd.Driver.
func (d *Driver) Type() nid.NetType { return nid.O2IB }

// Config returns the tunables with their defaults filled in, except those whose defaults depend on
// the NI: see Snapshot.
func (d *Driver) Config() Config { return d.cfg }

// Startup implements lnd.Driver. cfg.Interface is an IPv4 address, or the name of an interface,
// whose first IPv4 address is taken. cfg.Incarnation is the stamp of the NI's messages (kernels
// take microseconds since 1970). Startup fails if there is no address, if the device cannot be
// opened, if the service cannot be bound, or if the driver has an NI of this net and address
// already.
func (d *Driver) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	addr, err := chooser.Choose(cfg.Interface)
	if err != nil {
		return nil, err
	}
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	id := nid.FromAddr(cfg.Net, addr)
	ni := &NI{
		nid: id, addr: addr, stamp: cfg.Incarnation, clock: cfg.Clock, up: up, log: log.With("ni", id),
	}
	ni.peers.Init(shell.PeersConfig[nid.NID, peer]{
		Clock: cfg.Clock, Interval: ni.scanInterval, Scan: ni.scan, Make: func(id nid.NID) *peer { return newPeer(ni, id) },
	})
	ni.messages.Init()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.join(ni, cfg); err != nil {
		return nil, err
	}
	return ni, nil
}
