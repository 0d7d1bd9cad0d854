package rmcast

import (
	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/wire"
)

// Error says what is wrong, and what the user can do.
type Error = engine.Error

// Reasons why a message is not sent, or a node is not a member. Each is an *[Error] or wraps
// one.
var (
	ErrNotMember  = engine.ErrNotMember
	ErrNotYet     = engine.ErrNotYet
	ErrTooLong    = engine.ErrTooLong
	ErrExpelled   = engine.ErrExpelled
	ErrLeft       = engine.ErrLeft
	ErrUnfinished = engine.ErrUnfinished // wraps ErrLeft; other members may lack messages of this node
	ErrSplit      = engine.ErrSplit      // the manager removed silent members, which may be alive, from the list; Failed names them
	ErrNoManager  = engine.ErrNoManager
	ErrAhead      = engine.ErrAhead
	ErrQuorum     = engine.ErrQuorum
	ErrLimits     = engine.ErrLimits
	ErrStranger   = engine.ErrStranger
	ErrVersion    = engine.ErrVersion // a manager has another version of the protocol
	ErrNoRoom     = engine.ErrNoRoom  // the group has Config.Members members
)

// Types of arguments and results.
type (
	// GroupID is the number of a group, 1 to 65535.
	GroupID = wire.GroupID
	// Version names a list of members; the zero value names none.
	Version = wire.Version
	// ID identifies a member forever: a NID, and a number that rises with each start of the
	// node and each time it joins.
	ID = wire.ID
	// Member is an ID with its communication number.
	Member = wire.Member
	// Faults are probabilities with which a member discards messages on arrival, on purpose.
	Faults = engine.Faults
	// ManagerConfig configures a manager of a group.
	ManagerConfig = engine.ManagerConfig
	// Status is the state of a member, StreamStatus that of one origin's messages there, and
	// Wait a child in the tree that has not acknowledged.
	Status       = engine.Status
	StreamStatus = engine.StreamStatus
	Wait         = engine.Wait
	// Stats are the counters of a member.
	Stats = engine.Stats
	// Managing is the state of a manager.
	Managing = engine.Managing
)
