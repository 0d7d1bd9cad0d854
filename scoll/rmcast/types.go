package rmcast

import (
	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/wire"
)

// Error says what cannot be done, and what to do.
type Error = engine.Error

// Why a message is not sent, or a node is no member: each is an *[Error], or wraps one.
var (
	ErrNotMember  = engine.ErrNotMember
	ErrNotYet     = engine.ErrNotYet
	ErrTooLong    = engine.ErrTooLong
	ErrExpelled   = engine.ErrExpelled
	ErrLeft       = engine.ErrLeft
	ErrUnfinished = engine.ErrUnfinished // wraps ErrLeft: others may lack messages of this node
	ErrSplit      = engine.ErrSplit      // members that may live were left behind: Failed names them
	ErrNoManager  = engine.ErrNoManager
	ErrAhead      = engine.ErrAhead
	ErrQuorum     = engine.ErrQuorum
	ErrLimits     = engine.ErrLimits
	ErrStranger   = engine.ErrStranger
)

// What a program says and hears of groups.
type (
	// GroupID is the number of a group, 1 to 65535.
	GroupID = wire.GroupID
	// Version names one list of members; the zero value names none.
	Version = wire.Version
	// ID tells members apart for ever: a NID, and a number that rises with every incarnation of the
	// node, and every time it joins.
	ID = wire.ID
	// Member is an ID with its communication number.
	Member = wire.Member
	// Faults are shares of messages that a member discards on arrival, on purpose.
	Faults = engine.Faults
	// ManagerConfig configures managing a group.
	ManagerConfig = engine.ManagerConfig
	// Status tells how a node stands to a group, StreamStatus where one origin's messages
	// stand there, and Wait which child in the tree has not acknowledged.
	Status       = engine.Status
	StreamStatus = engine.StreamStatus
	Wait         = engine.Wait
	// Stats counts what a member did.
	Stats = engine.Stats
	// Managing describes a group that this node manages, or would.
	Managing = engine.Managing
)
