package socklnd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// The multicast addresses of groups, and the port that datagrams go to.
var (
	defaultBase4 = netip.AddrFrom4([4]byte{239, 76, 0, 0}) // organization-local, RFC 2365 section 6.2
	defaultBase6 = netip.MustParseAddr("ff15::4c4e:0")     // transient, site-local, RFC 4291 section 2.7
)

// rocePort is the UDP port of RoCEv2. Config refuses it as the port of multicast, because another
// program on this host may use it for RoCE.
const rocePort = 4791

// multicastPortFor returns the UDP port for datagrams, which is derived from the accept port. It
// is unprivileged. Nodes with different accept ports cannot connect to each other, so their UDP
// ports differ, too.
func multicastPortFor(accept uint16) uint16 {
	const apart = 10000
	if accept > 1<<16-1-apart {
		return accept - apart
	}
	return accept + apart
}

// validBase reports whether a range of groups may begin at an address. Addresses that routers
// and switches use are excluded.
func validBase(a netip.Addr, want4 bool) bool {
	b := a.As16()
	return a.IsMulticast() && a.Is4() == want4 && b[14] == 0 && b[15] == 0 &&
		(!want4 || a != netip.AddrFrom4([4]byte{224, 0, 0, 0}))
}

// casting is the multicast of an NI. It has no socket until a group is joined or a datagram is
// sent.
type casting struct {
	ni    *NI
	base  netip.Addr      // base address of the groups; the zero value: there is no multicast
	large bool            // whether LNet headers have the long form
	index atomic.Int64    // index of the network interface; changed under mu
	limit atomic.Int64    // largest payload of a datagram in bytes; changed under following
	room  atomic.Int64    // largest payload in bytes that the buffers of rx can take; 0: there is no rx; changed under mu
	tap   lnd.DatagramTap // capture of datagrams; nil: no capture

	following sync.Mutex                      // serializes calls of follow and measure; taken before mu
	scan      func(netip.Addr) *net.Interface // interfaceOf, which tests replace

	mu     sync.Mutex
	groups []lnd.Group       // groups that were joined; guarded by mu, like all fields below
	at     map[lnd.Group]int // index of the interface on which each of groups is joined; without one, joining again has failed
	rx     *datagramReader   // reader of datagrams; nil before the first Join
	tx     *datagramWriter   // writer of datagrams; nil before the first is sent
	ended  bool
	name   string        // name of the network interface
	looked time.Duration // when the interface was last looked for, after a datagram failed

	sending castQueue

	joined atomic.Pointer[[]lnd.Group] // a copy of groups, to be read without mu
	// Counters that Snapshot reports.
	txMsgs, txBytes, rxMsgs, rxBytes atomic.Uint64
	missed                           atomic.Uint64 // datagrams dropped because the receive buffer was full
}

var _ lnd.Multicaster = (*NI)(nil)

// init finds out whether there is multicast on the interface of the NI.
func (c *casting) init(ni *NI) {
	c.ni, c.scan, c.at = ni, interfaceOf, map[lnd.Group]int{}
	c.joined.Store(new([]lnd.Group))
	c.tap, _ = ni.tap.(lnd.DatagramTap)
	i := interfaceOf(ni.addr)
	if ni.cfg.NoMulticast || !haveDatagrams || i == nil || i.Flags&(net.FlagMulticast|net.FlagLoopback) == 0 {
		return
	}
	c.name, c.large = i.Name, !ni.nid.Is4()
	c.index.Store(int64(i.Index))
	c.base = ni.cfg.MulticastBase
	if c.large {
		c.base = ni.cfg.MulticastBase6
	}
	c.setLimit(i.MTU)
}

// setLimit sets the largest payload from the MTU of the interface. The buffers of the open reader, which were made at the
// first Join, limit it as well: other nodes, whose MTU grows likewise, have buffers of the same size, and could not take
// longer datagrams. The caller holds following, or is init.
func (c *casting) setLimit(mtu int) {
	limit := c.payloadLimit(mtu)
	if room := c.room.Load(); room > 0 {
		limit = min(limit, room)
	}
	c.limit.Store(limit)
}

// payloadLimit returns the largest payload that fits into one packet of mtu bytes, without
// fragments.
func (c *casting) payloadLimit(mtu int) int64 {
	const ip4, ip6, udp = 20, 40, 8
	headers := ip4 + udp + wire.DatagramOverhead(false)
	if c.large {
		headers = ip6 + udp + wire.DatagramOverhead(true)
	}
	return int64(max(min(mtu, 1<<16-1)-headers, 0))
}

// measure reads the MTU of the interface again, which may have changed. The caller does not hold mu.
func (c *casting) measure() {
	c.following.Lock()
	defer c.following.Unlock()
	if i, err := net.InterfaceByIndex(int(c.index.Load())); err == nil {
		c.setLimit(i.MTU)
	}
}

// MulticastLimits implements lnd.Multicaster.
func (ni *NI) MulticastLimits() lnd.MulticastLimits {
	c := &ni.cast
	l := lnd.MulticastLimits{MaxPayload: int(c.limit.Load())}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rx != nil {
		l.ReceiveBuffer = c.rx.buffer
	}
	return l
}

// GroupNID implements lnd.Multicaster: the NID of a group has its multicast
// address.
func (ni *NI) GroupNID(g lnd.Group) nid.NID {
	return nid.FromAddr(ni.nid.Net(), ni.cast.address(g))
}

func (c *casting) address(g lnd.Group) netip.Addr {
	b := c.base.As16()
	binary.BigEndian.PutUint16(b[14:], uint16(g))
	if c.large {
		return netip.AddrFrom16(b)
	}
	return netip.AddrFrom16(b).Unmap()
}

// groupAt returns the group that has an address; 0 if it is in no range.
func (c *casting) groupAt(a netip.Addr) lnd.Group {
	b := a.As16()
	g := lnd.Group(binary.BigEndian.Uint16(b[14:]))
	if c.address(g) != a {
		return 0
	}
	return g
}

// explain adds advice to the error of opening the socket or of joining a group.
func explain(err error) error {
	switch {
	case errors.Is(err, syscall.ENOBUFS):
		return fmt.Errorf("%w: too many groups; sysctl net.ipv4.igmp_max_memberships allows more", err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: another program has it; multicast_port names another, for all nodes", err)
	}
	return err
}

// jumbo is the minimum size, in bytes, of the buffer for an arriving datagram. It is larger than the
// usual MTU, because the MTU may grow while the socket is open.
const jumbo = 9 << 10

// listen opens the receiving socket. The caller holds mu, and has called follow.
func (c *casting) listen() error {
	if c.rx != nil {
		return nil
	}
	cfg := &c.ni.cfg
	longest := max(wire.DatagramOverhead(c.large)+int(c.limit.Load()), jumbo)
	rx, err := newDatagramReader(c.ni.addr, cfg.MulticastPort, cfg.MulticastRxBuffer, longest, c.ni.polling)
	if err != nil {
		return err
	}
	c.rx = rx
	c.room.Store(int64(longest - wire.DatagramOverhead(c.large)))
	c.ni.peers.Tasks.Go(func() { c.receive(rx) })
	return nil
}

// shutdown closes the sockets, which ends the goroutines that wait there.
func (c *casting) shutdown() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.setGroups(nil)
	if c.rx != nil {
		c.rx.close()
	}
	if c.tx != nil {
		c.tx.close()
	}
}
