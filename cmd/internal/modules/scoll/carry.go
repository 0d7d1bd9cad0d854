package scoll

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/scoll/rmcast"
)

// Bulk data of broadcasts can be sent by multicast before the request goes down the tree, to
// the group that the key multicast in the section admin names. See admin.Carried.
const (
	// carryPiece is how many bytes of data a message carries, unless the window is smaller.
	carryPiece = 64 << 10
	// carryTimeout bounds how long a broadcast waits until all members have its data.
	carryTimeout = 10 * time.Second
)

// heardBulk reports whether a message of the multicast group is one that carries bulk data. It stores the
// data if the message comes from another node that may run actions here.
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

// carry sends bulk data to the members of the multicast group, and returns when all live members
// have the data.
func (c *collective) carry(ctx context.Context, id admin.ID, bulk []byte) error {
	name := c.cfg.Admin.Multicast
	if name == "" {
		return errNoCarrier
	}
	ctx, cancel := context.WithTimeoutCause(ctx, carryTimeout, fmt.Errorf("not all have it after %v", carryTimeout))
	defer cancel()
	return c.m.mcast.Carry(ctx, name, carryTimeout/5, func(most int) iter.Seq[[]byte] {
		size := max(min(carryPiece, most-admin.CarriedHeader), 1)
		return func(yield func([]byte) bool) {
			for offset := 0; offset < len(bulk); offset += size {
				if !yield(admin.AppendCarried(nil, id, bulk, offset, min(offset+size, len(bulk)))) {
					return
				}
			}
		}
	})
}

// The ways in which bulk data is sent.
const (
	viaTree      = "tree"
	viaMulticast = "multicast"
)

// carrier sets Carry in an order: a function that sends the bulk data by multicast, and records
// the result in the reply.
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
