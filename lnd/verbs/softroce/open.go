package softroce

import (
	"errors"
	"net"
	"net/netip"
	"sync"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce/wire"
)

// The errors of opening devices and of making queue pairs.
var (
	errMTU    = errors.New("no path MTU of RoCE (256 bytes at least, and 96 for headers) fits")
	errConfig = errors.New("a device needs an address and a clock")
	errParts  = errors.New("protection domain, completion queues and pool of a queue pair must be of its device")
)

// Options are for devices over another network than the sockets of the operating system, and for
// tests. The zero value of a field means its default.
type Options struct {
	Network wire.Network // network of UDP ports; nil: that of the operating system
	Numbers Numbers      // source of ids and keys; nil: random ones
	// Bind makes the UDP socket of a device if Network is nil, with the options in how. It may
	// instead return a socket that an earlier process has opened. nil: how.ListenPacket. The result
	// is a *net.UDPConn or embeds one. Sockets of multicast groups are always new.
	Bind func(how net.ListenConfig, local netip.AddrPort) (net.PacketConn, error)
}

// NewOpener returns an Opener. Its devices are not shared with other Openers.
func NewOpener(cfg Options) verbs.Opener {
	o := &opener{network: cfg.Network, numbers: cfg.Numbers, hubs: make(map[netip.Addr]*hub)}
	if o.network == nil {
		o.network = udp{bind: cfg.Bind}
	}
	if o.numbers == nil {
		o.numbers, o.secret = randomNumbers{}, true
	}
	return o.open
}

// system has the open devices of this process.
var system = NewOpener(Options{})

// Open opens the device of an address (verbs.Opener). It needs no privilege. The
// socket is that of UDP port 4791 at the address, which the kernel's own software
// RoCE has in the first network namespace if it is loaded.
func Open(cfg verbs.OpenConfig) (verbs.Device, error) { return system(cfg) }

// opener has the open devices, by address.
type opener struct {
	network wire.Network
	numbers Numbers
	secret  bool // numbers of queue pairs and connections are shuffled, so that a peer cannot guess the next one from its own

	mu   sync.Mutex // guards hubs and the refs of each
	hubs map[netip.Addr]*hub
}

func (o *opener) open(cfg verbs.OpenConfig) (verbs.Device, error) {
	if cfg.Clock == nil || !isNode(cfg.Addr) {
		return nil, errConfig
	}
	addr := cfg.Addr.Unmap()
	for {
		o.mu.Lock()
		h := o.hubs[addr]
		if h == nil || h.refs > 0 {
			defer o.mu.Unlock()
			if h == nil {
				var err error
				if h, err = newHub(o, cfg); err != nil {
					return nil, err
				}
				o.hubs[addr] = h
			}
			h.refs++
			return newDevice(h), nil
		}
		o.mu.Unlock()
		<-h.gone // the last handle is closing this hub, so wait
	}
}

// release gives a handle of h back; the last one closes it.
func (o *opener) release(h *hub) {
	o.mu.Lock()
	h.refs--
	last := h.refs == 0
	o.mu.Unlock()
	if !last {
		return
	}
	h.close()
	o.mu.Lock()
	delete(o.hubs, h.key)
	o.mu.Unlock()
	close(h.gone)
}
