package node

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

// Bulk data of broadcasts can go by multicast before the request goes down the tree: to
// the group that multicast in the section admin names. Who has all of it then does not
// fetch it from its parent; who lacks some does, as all do otherwise. Messages are
//
//	 0  4  magic   "SCBK"
//	 4  2  version
//	 6  2  reserved
//	 8 16  id      of the broadcast
//	24  8  length  of the data
//	32  8  offset  of what follows, little-endian like all
//	40     data
const (
	carryMagic   = "SCBK"
	carryVersion = 1
	carryHeader  = 40
	// carryPiece is the data of a message, unless the window has less.
	carryPiece = 64 << 10
	// carryKept is how long data waits for its request.
	carryKept = time.Minute
	// carryTimeout bounds how long a broadcast waits until all have its data.
	carryTimeout = 10 * time.Second
)

// carried is bulk data of others' broadcasts whose requests have not come yet.
type carried struct {
	most  int // bytes of one
	limit int // bytes of all

	mu    sync.Mutex
	list  []*load // guarded by mu, like all below; the oldest first
	bytes int
}

// load is the data of a broadcast, as far as it has come.
type load struct {
	root nid.NID
	id   admin.ID
	data []byte
	have int
	at   time.Time
}

// put takes a message from a root.
func (c *carried) put(root nid.NID, b []byte, now time.Time) {
	le := binary.LittleEndian
	if len(b) < carryHeader || string(b[:4]) != carryMagic || le.Uint16(b[4:]) != carryVersion {
		return
	}
	id, length, offset := admin.ID(b[8:24]), le.Uint64(b[24:]), le.Uint64(b[32:])
	piece := b[carryHeader:]
	if length == 0 || length > uint64(c.most) || offset > length || uint64(len(piece)) > length-offset {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.find(root, id)
	if offset == 0 && i < 0 {
		c.room(int(length), now)
		c.list = append(c.list, &load{root: root, id: id, data: make([]byte, length), at: now})
		c.bytes += int(length)
		i = len(c.list) - 1
	}
	if i < 0 || uint64(c.list[i].have) != offset || uint64(len(c.list[i].data)) != length {
		return // of what was given up, or from a group that does not keep the order
	}
	l := c.list[i]
	l.have += copy(l.data[offset:], piece)
}

// room makes room for data: what is too old goes, and then the oldest.
func (c *carried) room(length int, now time.Time) {
	for len(c.list) > 0 && (now.Sub(c.list[0].at) > carryKept || c.bytes+length > c.limit) {
		c.drop(0)
	}
}

func (c *carried) drop(i int) {
	c.bytes -= len(c.list[i].data)
	c.list = slices.Delete(c.list, i, i+1)
}

func (c *carried) find(root nid.NID, id admin.ID) int {
	return slices.IndexFunc(c.list, func(l *load) bool { return l.root == root && l.id == id })
}

// take returns the data of a broadcast, and forgets it; nil if not all is there.
func (c *carried) take(root nid.NID, id admin.ID) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.find(root, id)
	if i < 0 {
		return nil
	}
	l := c.list[i]
	c.drop(i)
	if l.have < len(l.data) {
		return nil
	}
	return l.data
}

// heardBulk takes a message of the group that carries bulk data, if it is that.
func (c *collective) heardBulk(m *rmcast.Message) bool {
	if !bytes.HasPrefix(m.Data, []byte(carryMagic)) {
		return false
	}
	if root := m.Origin.NID; root != c.self && c.mayAct(root, root) {
		c.carried.put(root, m.Data, time.Now())
	}
	return true
}

// errNoCarrier says that no group carries bulk data.
var errNoCarrier = errors.New("multicast in the section admin of scoll names no group")

// carry sends bulk data to the members of the group that carries it, and returns when
// all live ones have it.
func (c *collective) carry(ctx context.Context, id admin.ID, bulk []byte) error {
	name := c.cfg.Admin.Multicast
	if name == "" {
		return errNoCarrier
	}
	ctx, cancel := context.WithTimeoutCause(ctx, carryTimeout, fmt.Errorf("not all have it after %v", carryTimeout))
	defer cancel()
	g, err := c.node.mcastGroup(name)
	if err != nil {
		return err
	}
	group, err := g.ready(ctx, carryTimeout/5)
	if err != nil {
		return err
	}
	s := newMcastSending(ctx, group, sendsUnderWay)
	status := group.Status()
	size := max(min(carryPiece, status.Window*status.Fragment-carryHeader), 1)
	for offset := 0; offset < len(bulk) && err == nil; offset += size {
		err = s.send(appendCarried(nil, id, bulk, offset, min(offset+size, len(bulk))))
	}
	_, lost := s.end()
	if lost != nil {
		return lost
	}
	return err
}

func appendCarried(b []byte, id admin.ID, bulk []byte, from, to int) []byte {
	b = append(b, carryMagic...)
	b = binary.LittleEndian.AppendUint32(b, carryVersion)
	b = append(b, id[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(bulk)))
	b = binary.LittleEndian.AppendUint64(b, uint64(from))
	return append(b, bulk[from:to]...)
}

// The ways of bulk data.
const (
	viaTree      = "tree"
	viaMulticast = "multicast"
)

// carrier has an order's bulk data carried, and takes note of what came of that.
func (c *collective) carrier(o *admin.Order, reply *BroadcastReply) {
	if o.Carry == nil || len(o.Bulk) == 0 {
		return
	}
	o.Carry = func(ctx context.Context, id admin.ID, bulk []byte) bool {
		reply.Via = viaMulticast
		if err := c.carry(ctx, id, bulk); err != nil {
			reply.Via, reply.ViaError = viaTree, err.Error()
		}
		return reply.Via == viaMulticast
	}
}
