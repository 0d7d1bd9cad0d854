package health

import (
	"time"

	"ulnet/lnet/nid"
)

// View is the interface to the discovery of servers. A *gossip.Agent implements it.
type View interface {
	// Alive reports whether a server is alive, and how often it has died.
	Alive(id nid.NID) (alive bool, lifetime uint64)
	// Counts returns how many servers are alive, this one included, and how many
	// there are.
	Counts() (alive, known int)
	// Quorum reports whether more than half of the known servers are alive (CH-3).
	Quorum() bool
	// Watch calls f for every server that is alive now, and then whenever a server dies or comes
	// alive, until stop is called.
	Watch(f func(id nid.NID, alive bool, lifetime uint64)) (stop func())
}

// Unsure is an optional interface of a View. It reports whether discovery is unable to judge at
// the moment, as after a pause of this process, or while discovery has just begun and the other servers
// may have, too (CH-A6). Meanwhile, the lack of a quorum evicts no client.
type Unsure interface{ Unsure() bool }

// Outcome is the result of a broadcast.
type Outcome struct {
	// Err is set if nothing was sent.
	Err error
	// Missing are all servers of the cluster that did not answer, including dead ones that
	// were not asked.
	Missing []nid.NID
	// Reply is the merged answer of the servers that answered, in the form of [wire.Reply].
	Reply []byte
}

// Broadcaster reaches all other live servers of the cluster with one request.
type Broadcaster interface {
	// Broadcast sends a request, and owns its memory from then on. It calls done once, from
	// any goroutine, after Broadcast has returned.
	Broadcast(request []byte, done func(Outcome))
	// Serve sets the function answer, which answers requests of other servers; its argument root is
	// the sender. The function answer calls reply once, immediately or later, from any goroutine.
	// It does not block, and keeps no part of the request. Replies of several servers are merged
	// with [wire.MergeReplies]. Serve(nil) ends serving.
	Serve(answer func(root nid.NID, request []byte, reply func([]byte)))
}

// Tombstone remembers an eviction. Until the time Until, the given incarnation of the client and
// all earlier ones must not connect again (CH-65).
type Tombstone struct {
	Client      ClientID  // the evicted client
	Incarnation uint64    // the highest incarnation that is refused
	Until       time.Time // time of the wall clock at which the tombstone expires
	// Epoch has the last 24 bits of the number of the client's choice of a master that the eviction
	// ended. 0: not known, or the eviction is final whatever the client chose since.
	Epoch uint32
}

// Store keeps records and tombstones over restarts. Calls take effect in their order. The
// function done of a call is called once, from any goroutine, when the change is durable or has
// failed.
type Store interface {
	// Load returns all records and tombstones.
	Load() (records []Record, tombstones []Tombstone, err error)
	// Save adds the record of a client, or replaces the client's earlier one.
	Save(r Record, done func(error))
	// Remove removes the client's record, if there is one. What it does with tombstones depends on
	// t.Until. If that time is in the future, Remove adds the tombstone t. If it has passed, Remove
	// removes the client's tombstones up to t.Incarnation. If it is zero, Remove changes no
	// tombstone.
	Remove(t Tombstone, done func(error))
}
