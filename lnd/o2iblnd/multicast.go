package o2iblnd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// The addresses of groups, unless the configuration has others, are organization-local (RFC
// 2365 section 6.2). The Q_Key is the one of RDMA-CM's groups (rocev2 §10).
var defaultBase = netip.AddrFrom4([4]byte{239, 76, 0, 0})

const defaultQKey = 0x01234567

// validBase reports whether a range of groups may begin at an address. Addresses that routers
// and switches use are excluded.
func validBase(a netip.Addr) bool {
	if !a.Is4() || !a.IsMulticast() {
		return false
	}
	b := a.As4()
	return b[2] == 0 && b[3] == 0 && b[1]|b[0]&^224 != 0
}

// casting is the multicast of an NI: a queue pair for datagrams, which is made when a group is
// joined or a datagram is sent.
type casting struct {
	ni    *NI
	dev   verbs.Device
	clock machine.Clock
	most  int          // payload in bytes of the longest datagram that may arrive; 0: there is no multicast
	limit atomic.Int64 // payload in bytes of the longest datagram that may leave now, at most most

	joining sync.Mutex // held during a Join or Leave, for which a device may need long

	mu     sync.Mutex
	groups []lnd.Group // groups that were joined; guarded by mu, as are ends and ended
	ends   *castEnds   // queue pair for multicast and its objects; nil before the first use
	ended  bool

	sending castQueue

	// taken and datagram are used only in the upcalls for arriving datagrams, of which one runs at a
	// time.
	taken    lnd.Delivery
	datagram wire.Datagram

	joined atomic.Pointer[[]lnd.Group] // a copy of groups, to be read without mu
	// Counters that Snapshot reports.
	txMsgs, txBytes, rxMsgs, rxBytes atomic.Uint64
}

var _ lnd.Multicaster = (*NI)(nil)

// init computes the largest payload of a datagram. mtu is the path MTU that the device had when it was opened.
func (c *casting) init(ni *NI, dev verbs.Device, mtu int, clock machine.Clock) {
	c.ni, c.dev, c.clock = ni, dev, clock
	c.joined.Store(new([]lnd.Group))
	c.sending.init()
	if !ni.cfg.NoMulticast {
		c.most = max(mtu-kib.DatagramOverhead, 0)
	}
	c.follow()
}

// follow sets the limit for datagrams that leave to what the present MTU of the device permits. Datagrams that arrive may
// be longer, because a peer may have a larger MTU.
func (c *casting) follow() {
	c.limit.Store(int64(max(min(c.most, c.dev.Attr().MTU-kib.DatagramOverhead), 0)))
}

// castEnds is a queue pair for datagrams and the objects that it needs.
type castEnds struct {
	pd           verbs.PD
	pool         verbs.Pool
	sends, recvs verbs.CQ
	qp           verbs.UD
}

// close closes the objects that were made. It waits for upcalls in progress.
func (e *castEnds) close() (err error) {
	if e.qp != nil {
		e.qp.Close()
	}
	for _, q := range []verbs.CQ{e.sends, e.recvs} {
		if q != nil {
			err = errors.Join(err, q.Close())
		}
	}
	if e.pool != nil {
		err = errors.Join(err, e.pool.Close())
	}
	if e.pd != nil {
		err = errors.Join(err, e.pd.Close())
	}
	return err
}

// open makes the queue pair, if that has not been done. The caller holds mu.
func (c *casting) open() (*castEnds, error) {
	switch {
	case c.ended:
		return nil, syscall.ESHUTDOWN
	case c.most == 0:
		return nil, fmt.Errorf("o2iblnd: no multicast on %v: %w", c.ni.nid, syscall.EOPNOTSUPP)
	case c.ends != nil:
		return c.ends, nil
	}
	e := new(castEnds)
	if err := c.make(e); err != nil {
		return nil, fmt.Errorf("o2iblnd: queue pair for multicast: %w", errors.Join(err, e.close()))
	}
	c.ends = e
	return e, nil
}

// make makes the objects of a queue pair. If it fails the caller closes those that were made.
func (c *casting) make(e *castEnds) (err error) {
	cfg := &c.ni.cfg
	if e.pd, err = c.dev.NewPD(); err != nil {
		return err
	}
	e.pool, err = e.pd.NewPool(verbs.PoolConfig{Buffers: cfg.MulticastBuffers, Size: c.most + kib.DatagramOverhead})
	if err != nil {
		return err
	}
	if e.sends, err = c.dev.NewCQ(maxCasts, c.sent); err != nil {
		return err
	}
	pool := e.pool
	e.recvs, err = c.dev.NewCQ(cfg.MulticastBuffers, func(batch []verbs.Completion) { c.receive(batch, pool) })
	if err != nil {
		return err
	}
	e.qp, err = c.dev.NewUD(verbs.UDConfig{
		PD: e.pd, Sends: e.sends, Recvs: e.recvs, Pool: e.pool, MaxSends: maxCasts,
		QKey: cfg.MulticastQKey, TrafficClass: uint8(cfg.TOS),
	})
	return err
}

// MulticastLimits implements lnd.Multicaster.
func (ni *NI) MulticastLimits() lnd.MulticastLimits {
	c := &ni.cast
	l := lnd.MulticastLimits{MaxPayload: int(c.limit.Load())}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.groups) == 0 {
		return l
	}
	const least = 1024 // bytes that MulticastLimits.Burst adds to twice the payload of a datagram
	l.ReceiveBuffer = max(ni.cfg.MulticastBuffers*least, 2*c.most+least)
	if q, ok := c.ends.qp.(interface{ ReceiveBuffer() int }); ok { // if the device has a receive buffer of the system, that is the limit
		l.ReceiveBuffer = q.ReceiveBuffer()
	}
	return l
}

// GroupNID implements lnd.Multicaster: the NID of a group has its multicast
// address.
func (ni *NI) GroupNID(g lnd.Group) nid.NID {
	return nid.FromAddr(ni.nid.Net(), ni.cast.address(g))
}

func (c *casting) address(g lnd.Group) netip.Addr {
	b := c.ni.cfg.MulticastBase.As4()
	binary.BigEndian.PutUint16(b[2:], uint16(g))
	return netip.AddrFrom4(b)
}

// groupAt returns the group that has an address; 0 if no group has it.
func (c *casting) groupAt(a netip.Addr) lnd.Group {
	if !a.Is4() {
		return 0
	}
	b := a.As4()
	g := lnd.Group(binary.BigEndian.Uint16(b[2:]))
	if c.address(g) != a {
		return 0
	}
	return g
}

// Join implements lnd.Multicaster.
func (ni *NI) Join(g lnd.Group) error {
	c := &ni.cast
	if !g.IsValid() {
		return syscall.EINVAL
	}
	c.joining.Lock()
	defer c.joining.Unlock()
	e, added, err := c.add(g)
	if err != nil || !added {
		return err
	}
	if err := e.qp.Join(c.address(g)); err != nil {
		c.remove(g)
		return fmt.Errorf("o2iblnd: multicast group %d: %w", g, err)
	}
	return nil
}

// add adds a group to those that were joined, so that datagrams that arrive before Join
// returns are received. added is false if it was there before.
func (c *casting) add(g lnd.Group) (e *castEnds, added bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, err = c.open(); err != nil || slices.Contains(c.groups, g) {
		return e, false, err
	}
	c.setGroups(append(slices.Clone(c.groups), g))
	return e, true, nil
}

// remove undoes add. It returns nil if the group was not joined.
func (c *casting) remove(g lnd.Group) *castEnds {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.groups, g)
	if i < 0 {
		return nil
	}
	c.setGroups(slices.Delete(slices.Clone(c.groups), i, i+1))
	return c.ends
}

// setGroups publishes the list of groups. The caller holds mu.
func (c *casting) setGroups(list []lnd.Group) {
	c.groups = list
	c.joined.Store(&list)
}

// Leave implements lnd.Multicaster. The queue pair stays for the next group.
func (ni *NI) Leave(g lnd.Group) error {
	c := &ni.cast
	c.joining.Lock()
	defer c.joining.Unlock()
	e := c.remove(g)
	if e == nil {
		return nil
	}
	if err := e.qp.Leave(c.address(g)); err != nil {
		return fmt.Errorf("o2iblnd: leave multicast group %d: %w", g, err)
	}
	return nil
}

// shutdown lets queued datagrams leave until ctx ends, and closes the queue pair. No upcall
// follows it. The error is ctx's if datagrams were lost.
func (c *casting) shutdown(ctx context.Context) error {
	if c.ni == nil {
		return nil // init was not called
	}
	err := c.sending.drain(ctx)
	c.mu.Lock()
	e := c.ends
	c.ended, c.ends = true, nil
	c.setGroups(nil)
	c.mu.Unlock()
	if e != nil {
		err = errors.Join(err, e.close())
	}
	for m := c.sending.queue.Pop(); m != nil; m = c.sending.queue.Pop() { // no other goroutine uses the queue now
		c.ni.up.Finalize(m, newError(ShuttingDown, m.Target, nil))
	}
	return err
}
