package o2iblnd

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/nid"
)

// acceptor is a device and its listener, for all NIs of an address.
type acceptor struct {
	driver   *Driver
	addr     netip.Addr
	dev      verbs.Device
	mtu      int // path MTU of dev when it was opened, the largest one that it can have
	listener verbs.Listener

	mu       sync.RWMutex
	nis      []*NI // NIs in the order in which they were started; guarded by mu
	starting int   // number of NIs that are starting, and not in nis yet; guarded by mu

	subnets  []netip.Prefix // IP networks in which this host has the address addr
	redialMu sync.Mutex
	redials  redials // limits the requests that make peers notice a restart of this node; guarded by redialMu
}

// join opens the device of ni's address, if need be, and accepts requests for ni. The caller
// holds d.mu.
func (d *Driver) join(ni *NI, cfg lnd.Config) error {
	a := d.acceptors[ni.addr]
	if a == nil {
		a = &acceptor{driver: d, addr: ni.addr, subnets: subnetsOf(ni.addr)}
		var err error
		if a.dev, err = d.cfg.Open(verbs.OpenConfig{
			Addr: ni.addr, Clock: cfg.Clock, MTU: d.cfg.MTU, ReceiveBuffer: d.cfg.ReceiveBuffer, Log: cfg.Log, Tap: tapOf(cfg.Tap),
			Unknown: a.unknown,
		}); err != nil {
			return fmt.Errorf("o2iblnd: device of %v: %w", ni.addr, err)
		}
		a.mtu = a.dev.Attr().MTU
	} else if a.find(ni.nid) != nil {
		return fmt.Errorf("o2iblnd: there is an NI %v already", ni.nid)
	}
	a.begin(1)
	defer a.begin(-1)
	own := d.cfg
	err := lnd.Override(own.Tunables(), cfg.LND)
	if err == nil {
		err = ni.open(a, own, cfg.Tunables)
	}
	if err == nil && a.listener == nil {
		if a.listener, err = a.dev.Listen(d.cfg.Service, a.request); err != nil {
			err = errors.Join(fmt.Errorf("o2iblnd: service %d of %v: %w", d.cfg.Service, ni.addr, err), ni.closeVerbs())
		}
	}
	if err != nil {
		if d.acceptors[ni.addr] != a { // a is new, so no other NI uses its device
			err = errors.Join(err, a.dev.Close())
		}
		return err
	}
	d.acceptors[ni.addr] = a
	a.mu.Lock()
	a.nis = append(a.nis, ni)
	a.mu.Unlock()
	return nil
}

func (a *acceptor) begin(n int) {
	a.mu.Lock()
	a.starting += n
	a.mu.Unlock()
}

// leave stops accepting requests for ni.
func (a *acceptor) leave(ni *NI) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nis = slices.DeleteFunc(slices.Clone(a.nis), func(other *NI) bool { return other == ni })
}

// release closes the device if no NI is left.
func (a *acceptor) release() error {
	d := a.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	a.mu.RLock()
	left := len(a.nis)
	a.mu.RUnlock()
	if left > 0 || d.acceptors[a.addr] != a {
		return nil
	}
	delete(d.acceptors, a.addr)
	return errors.Join(a.listener.Close(), a.dev.Close())
}

func (a *acceptor) find(id nid.NID) *NI {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, ni := range a.nis {
		if ni.nid == id {
			return ni
		}
	}
	return nil
}

// first returns the NI that was started first, or nil if there is none. That NI counts and logs the refusals
// which concern none of the NIs. early reports whether an NI is starting, or none has started.
func (a *acceptor) first() (ni *NI, early bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if len(a.nis) > 0 {
		ni = a.nis[0]
	}
	return ni, a.starting > 0 || ni == nil
}

// request decides about a connection that a peer asks for (o2iblnd-wire §7.1).
func (a *acceptor) request(r verbs.Request) {
	from := r.Peer()
	some, early := a.first()
	if a.driver.cfg.RequirePrivilegedPort && from.Port() > maxPrivilegedPort {
		refuse(r, some, kib.Fatal, UnprivilegedPort, kib.V2, nil)
		return
	}
	m, why, version, err := inspectRequest(r.Private())
	if why != ReasonNone {
		refuse(r, some, kib.Fatal, why, version, err)
		return
	}
	ni := a.find(m.DstNID)
	switch {
	case ni == nil && early:
		refuse(r, some, kib.Early, RefusedEarly, kib.V2, nil)
	case ni == nil:
		refuse(r, some, kib.Fatal, ForeignNID, kib.V2, nil)
	default:
		ni.request(r, &m)
	}
}

// maxPrivilegedPort is the last port that only the privileged may bind.
const maxPrivilegedPort = 1023

// refuse rejects a request that was not passed to an NI. The NI some counts and logs the refusal;
// if it is nil, no NI does.
func refuse(r verbs.Request, some *NI, why kib.Why, reason Reason, version kib.Version, err error) {
	from := r.Peer()
	reject := kib.Reject{Version: version, Why: why, Params: kib.ConnParams{MaxMsgSize: kib.MaxMsgSize}}
	_ = r.Reject(reject.AppendTo(nil)) // an error means that the peer has gone
	if some != nil {
		some.rejectAddr(reason, from, err)
	}
}

// tapOf returns the function to which a device shows its packets, or nil without a capture.
func tapOf(t lnd.Tap) func(verbs.TappedPacket) {
	p, ok := t.(lnd.PacketTap)
	if !ok {
		return nil
	}
	return func(v verbs.TappedPacket) { p.Packet(lnd.Packet(v)) }
}
