package scoll

import (
	"ulnet/lnet/nid"
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// Names of the protocol that programs use.
type (
	// ServiceID names a service; all nodes agree on it.
	ServiceID = wire.ServiceID
	// GroupID names a group on all its members.
	GroupID = wire.GroupID
	// Tree is a type of spanning tree and its K. The zero value is the binomial tree.
	Tree = wire.Tree
	// Membership is the ordered list of the nodes of a group, its Targets: each a node with
	// the entities on it. A position in the list is a rank.
	Membership = wire.Membership
	Target     = wire.Target
	Entity     = wire.Entity
	// Status is the result of a broadcast at a member: OK or, as in LNet, an errno of Linux.
	// Services may use any value. It implements error.
	Status = wire.Status
	// GroupState is the state of a group at a node, and Stats are the counters of a node.
	GroupState = engine.GroupState
	Stats      = engine.Stats
)

// The types of trees.
const (
	KNomial = wire.KNomial
	KAry    = wire.KAry
)

// The values of Status that the module uses; see package scoll/wire for their meaning.
const (
	OK, EPERM, EIO, EAGAIN, EBUSY                        = wire.OK, wire.EPERM, wire.EIO, wire.EAGAIN, wire.EBUSY
	EINVAL, EPROTO, EMSGSIZE, ENOTSUP, ETIMEDOUT         = wire.EINVAL, wire.EPROTO, wire.EMSGSIZE, wire.ENOTSUP, wire.ETIMEDOUT
	EHOSTDOWN, EALREADY, ESTALE, ECANCELED, EKEY         = wire.EHOSTDOWN, wire.EALREADY, wire.ESTALE, wire.ECANCELED, wire.EKEY
	ENOGROUP, ENOSERVICE, EREBOOT, EAHEAD, ENOTLISTED    = wire.ENOGROUP, wire.ENOSERVICE, wire.EREBOOT, wire.EAHEAD, wire.ENOTLISTED
	ELOST, EMAXACTIVE, EMAXGROUPS, EMAXLISTS, EMAXMEMORY = wire.ELOST, wire.EMAXACTIVE, wire.EMAXGROUPS, wire.EMAXLISTS, wire.EMAXMEMORY
	EMAXMEMBERS                                          = wire.EMAXMEMBERS
)

// Bounds in bytes.
const (
	MaxMessage = wire.MaxMessage // size of a request with everything in it
	MinSegment = wire.MinSegment // smallest segment of pipelined bulk data, see Group.SetSegment
	MaxCarry   = wire.MaxCarry   // largest RequestConfig.Carry
)

// ErrTwice says that a node is listed twice.
var ErrTwice = wire.ErrTwice

// NewMembership makes a membership of targets in their order, which all members must agree
// on. It keeps the slices. The errors are ErrTwice, and ErrNoMembers, ErrMember and ErrNoEntities
// of package wire.
func NewMembership(targets []Target) (*Membership, error) { return wire.NewMembership(targets) }

// membershipOf makes a membership of nodes in their order, with one entity each. Errors as
// NewMembership.
func membershipOf(nodes ...nid.NID) (*Membership, error) {
	targets := make([]Target, len(nodes))
	for i, id := range nodes {
		targets[i] = Target{NID: id, Entities: make([]Entity, 1)}
	}
	return NewMembership(targets)
}
