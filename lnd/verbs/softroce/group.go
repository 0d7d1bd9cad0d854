package softroce

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
)

// errGroups means that a device has joined as many groups as it may.
var errGroups = errors.New("too many multicast groups at one address: leave one before")

// openPort opens the socket of a device, or of a group.
func (u udp) openPort(cfg wire.Config) (*socket, error) {
	if cfg.Group.IsValid() {
		return openGroup(cfg.Local, cfg.Group, cfg.ReceiveBuffer)
	}
	s, err := u.openSocket(cfg.Local, cfg.ReceiveBuffer)
	if err == nil {
		_ = s.castBy() // fails if no interface has the address; then Join fails, too, but the device works without groups
	}
	return s, err
}

// maxGroups bounds the groups of a device, each of which has a socket and a
// goroutine. Local policy.
const maxGroups = 256

// groups are the multicast groups that queue pairs of a device have joined. Safe
// for concurrent use.
type groups struct {
	network wire.Network
	local   netip.AddrPort
	buffer  int // bytes of receive buffer to ask the system for
	tap     func(verbs.TappedPacket)

	granted atomic.Int64 // bytes of receive buffer that the last group got; 0: there was none yet

	mu     sync.Mutex // guards all fields below
	list   map[netip.Addr]*group
	closed bool
	past   GroupStats // counters of the groups that have no members any more
	ending sync.WaitGroup
}

// GroupStats are the counters of packets that were sent to groups and dropped before they
// reached a queue pair.
type GroupStats struct {
	Groups    int    // groups that have members now
	BadICRC   uint64 // packets with a wrong ICRC
	Malformed uint64 // packets that could not be parsed
	BadPKey   uint64 // packets of another partition
	Strays    uint64 // packets not addressed to the queue pair number of groups
	Missed    uint64 // packets lost because the system's receive buffer was full; as the latest received packet says
}

// group is a multicast group, whose packets arrive at a UDP socket of its own.
type group struct {
	addr    netip.Addr
	port    wire.Conn
	in      *ingress
	strays  atomic.Uint64
	members atomic.Pointer[[]*ud]
}

// groupBuffer is the default size in bytes of the receive buffer of a group. It is large, because datagrams have no flow
// control.
const groupBuffer = 4 << 20

func newGroups(network wire.Network, local netip.AddrPort, buffer int, tap func(verbs.TappedPacket)) *groups {
	buffer = cmp.Or(buffer, groupBuffer)
	return &groups{network: network, local: local, buffer: buffer, tap: tap, list: make(map[netip.Addr]*group)}
}

// join makes u a member of a group. To join again does nothing.
func (s *groups) join(addr netip.Addr, u *ud) error {
	if !addr.IsMulticast() || addr.Is4() != s.local.Addr().Is4() {
		return fmt.Errorf("%w: %v is no group for %v", errUD, addr, s.local.Addr())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return verbs.ErrClosed
	}
	if g := s.list[addr]; g != nil {
		if list := *g.members.Load(); !slices.Contains(list, u) {
			g.set(append(slices.Clone(list), u))
		}
		return nil
	}
	if len(s.list) >= maxGroups {
		return errGroups
	}
	g, err := s.open(addr, u)
	if err != nil {
		return fmt.Errorf("join %v: %w", addr, err)
	}
	s.list[addr] = g
	return nil
}

// open opens the port of a group with its first member.
func (s *groups) open(addr netip.Addr, u *ud) (*group, error) {
	g := &group{addr: addr, in: newIngress(netip.AddrPortFrom(addr, s.local.Port()))}
	g.in.tap, g.in.deliver = s.tap, g.arrived
	g.set([]*ud{u})
	var err error
	g.port, err = s.network.Open(wire.Config{Local: s.local, Group: addr, ReceiveBuffer: s.buffer, Receive: g.in.receive})
	if err != nil {
		return nil, err
	}
	s.granted.Store(int64(g.port.Attr().ReceiveBuffer))
	return g, nil
}

func (g *group) set(list []*ud) { g.members.Store(&list) }

// arrived takes packets that were sent to the group: each member gets a copy.
func (g *group) arrived(from netip.AddrPort, list []ibta.Packet) {
	for len(list) > 0 {
		n := 0
		for n < len(list) && list[n].DestQP == ibta.MulticastQPN {
			n++
		}
		if n == 0 {
			g.strays.Add(1)
			list = list[1:]
			continue
		}
		for _, u := range *g.members.Load() {
			u.receive(from, g.addr, list[:n])
		}
		list = list[n:]
	}
}

// leave ends a membership. Packets in flight may still arrive.
func (s *groups) leave(addr netip.Addr, u *ud) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.list[addr]; g != nil {
		s.remove(g, u)
	}
}

// leaveAll removes u from all groups.
func (s *groups) leaveAll(u *ud) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.list { // any order: groups are independent
		s.remove(g, u)
	}
}

// remove takes u out of a group. It does not wait for the port to close, since it may be
// called from the goroutine of the port. The caller holds mu.
func (s *groups) remove(g *group, u *ud) {
	list := *g.members.Load()
	i := slices.Index(list, u)
	if i < 0 {
		return
	}
	g.set(slices.Delete(slices.Clone(list), i, i+1))
	if len(list) > 1 {
		return
	}
	delete(s.list, g.addr)
	s.ending.Go(func() { s.end(g) })
}

// end closes the port of g, which has no members.
func (s *groups) end(g *group) {
	_ = g.port.Close() // no member is left that an error could be reported to
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past.add(g)
}

// close ends all groups, and returns when their ports are closed.
func (s *groups) close() {
	s.mu.Lock()
	s.closed = true
	for addr, g := range s.list {
		g.set(nil)
		delete(s.list, addr)
		s.ending.Go(func() { s.end(g) })
	}
	s.mu.Unlock()
	s.ending.Wait()
}

// stats returns the counters of all groups.
func (s *groups) stats() GroupStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.past
	for _, g := range s.list {
		sum.add(g)
	}
	sum.Groups = len(s.list)
	return sum
}

func (s *GroupStats) add(g *group) {
	s.BadICRC += g.in.badICRC.Load()
	s.Malformed += g.in.malformed.Load()
	s.BadPKey += g.in.badPKey.Load()
	s.Strays += g.strays.Load()
	if p, ok := g.port.(interface{ Missed() uint64 }); ok {
		s.Missed += p.Missed()
	}
}
