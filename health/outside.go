package health

import (
	"time"

	"ulnet/lnet/nid"
)

// View is what health needs to know of discovery.
type View interface {
	// Alive reports whether a server is alive, and how often it has died.
	Alive(id nid.NID) (alive bool, lifetime uint64)
	// Counts returns how many servers are alive, this one included, and how many
	// there are.
	Counts() (alive, known int)
	// Quorum reports whether more than half of the known servers are alive (CH-3).
	Quorum() bool
	// Watch calls f for every server that is alive now, and then whenever one
	// dies or comes alive, until stop.
	Watch(f func(id nid.NID, alive bool, lifetime uint64)) (stop func())
}

// Unsure is what a View may have besides: it reports that discovery cannot judge
// for the moment, as after a pause of this node (CH-A6).
type Unsure interface{ Unsure() bool }

// Outcome is how a broadcast ended.
type Outcome struct {
	// Err says that nothing was sent.
	Err error
	// Missing are all servers of the cluster that did not answer, those included
	// that are dead and were not asked.
	Missing []nid.NID
	// Reply is the merged answer of the others, in the form of [wire.Reply].
	Reply []byte
}

// Broadcaster reaches all other live servers of the cluster with one request.
type Broadcaster interface {
	// Broadcast sends a request, which is the callee's from then on. done is
	// called once, from any goroutine, not before Broadcast returns.
	Broadcast(request []byte, done func(Outcome))
	// Serve says what answers requests of others: answer is told who sent one, and
	// calls reply once, at once or a little later, from any goroutine. It does not
	// block, and keeps no part of request. Replies of several servers are merged
	// with [wire.MergeReplies]. nil ends serving.
	Serve(answer func(root nid.NID, request []byte, reply func([]byte)))
}

// Tombstone says until when an incarnation of a client, and all before it, must not
// connect again (CH-65).
type Tombstone struct {
	Client      ClientID
	Incarnation uint64
	Until       time.Time // by the wall clock
}

// Store keeps records and tombstones over restarts. Calls take effect in their
// order; a callback is called once, from any goroutine, when what was asked
// for is durable or has failed.
type Store interface {
	// Load returns all that is there.
	Load() (records []Record, tombstones []Tombstone, err error)
	// Save adds a record, or replaces the client's.
	Save(r Record, done func(error))
	// Remove removes the client's record, if there is one, and adds a tombstone
	// unless its Until is zero. With an Until that is over it removes the tombstones
	// of that incarnation and all before it.
	Remove(t Tombstone, done func(error))
}
