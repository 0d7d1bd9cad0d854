package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/scoll/rmcast"
)

// Bulk data of broadcasts can go by multicast before the request goes down the tree: to
// the group that multicast in the section admin names. See admin.Carried.
const (
	// carryPiece is the data of a message, unless the window has less.
	carryPiece = 64 << 10
	// carryTimeout bounds how long a broadcast waits until all have its data.
	carryTimeout = 10 * time.Second
)

// heardBulk takes a message of the group that carries bulk data, if it is that.
func (c *collective) heardBulk(m *rmcast.Message) bool {
	if !admin.IsCarried(m.Data) {
		return false
	}
	if root := m.Origin.NID; root != c.self && c.mayAct(root, root) {
		c.carried.Put(root, m.Data, time.Now())
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
	size := max(min(carryPiece, status.Window*status.Fragment-admin.CarriedHeader), 1)
	for offset := 0; offset < len(bulk) && err == nil; offset += size {
		err = s.send(admin.AppendCarried(nil, id, bulk, offset, min(offset+size, len(bulk))))
	}
	_, lost := s.end()
	if lost != nil {
		return lost
	}
	return err
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
