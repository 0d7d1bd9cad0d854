package socklnd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// Driver makes NIs on TCP. Those that it makes on one address, for several
// nets, share one listener; NIs of different drivers cannot share an address
// and port.
type Driver struct {
	cfg       Config
	acceptors acceptors
	loans     loanWatch
}

var _ lnd.Driver = (*Driver)(nil)

// New returns a driver with the given tunables, or an ErrConfig.
func New(cfg Config) (*Driver, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Driver{
		cfg:       cfg.withDefaults(),
		acceptors: acceptors{byAddr: make(map[netip.Addr]*acceptor)},
	}, nil
}

// Type implements lnd.Driver.
func (d *Driver) Type() nid.NetType { return nid.TCP }

// Config returns the tunables with their defaults filled in, but for
// SockTimeout and ConnsPerPeer, whose defaults depend on the NI: see Snapshot.
func (d *Driver) Config() Config { return d.cfg }

// Startup implements lnd.Driver. It fails when the interface has no IPv4
// address, the accept port cannot be bound, or the driver has an NI of this net
// and address already.
func (d *Driver) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	addr, err := localAddr(cfg.Interface)
	if err != nil {
		return nil, err
	}
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	id := nid.FromAddr(cfg.Net, addr)
	ni := &NI{
		cfg: d.cfg.forNI(addr, cfg.Tunables.Timeout), acceptors: &d.acceptors, loans: &d.loans, nid: id, pid: or(cfg.PID, nid.LustrePID), addr: addr,
		incarnation: cfg.Incarnation, clock: cfg.Clock, up: up, tap: cfg.Tap,
		log:     log.With("ni", id),
		peers:   make(map[nid.ProcessID]*peer),
		drained: make(chan struct{}, 1), dying: make(chan struct{}),
	}
	ni.spoilSum.Store(d.cfg.InjectChecksumError)
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

// errNoAddress means an interface without an address that makes a NID.
var errNoAddress = errors.New("no IPv4 address")

// localAddr returns the IPv4 address that name stands for: a local address as
// it is, the first address of an interface, or with an empty name that of the
// first interface that is up and not the loopback.
func localAddr(name string) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(name); err == nil {
		if !addr.Is4() {
			return netip.Addr{}, fmt.Errorf("socklnd: %s: %w", name, errNoAddress)
		}
		return addr, nil
	}
	ifaces, err := interfaces(name)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("socklnd: interface %s: %w", name, err)
	}
	for i := range ifaces {
		if addr := firstIPv4(&ifaces[i]); addr.IsValid() {
			return addr, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("socklnd: interface %s: %w", name, errNoAddress)
}

// interfaces returns the interface of that name, or the candidates for none.
func interfaces(name string) ([]net.Interface, error) {
	if name != "" {
		i, err := net.InterfaceByName(name)
		if err != nil {
			return nil, err
		}
		return []net.Interface{*i}, nil
	}
	all, err := net.Interfaces()
	var usable []net.Interface
	for _, i := range all {
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
			usable = append(usable, i)
		}
	}
	return usable, err
}

func firstIPv4(i *net.Interface) netip.Addr {
	addrs, _ := i.Addrs() // an interface that vanishes has none
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
			return p.Addr()
		}
	}
	return netip.Addr{}
}
