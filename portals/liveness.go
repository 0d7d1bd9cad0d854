package portals

import (
	"time"

	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// LastHeard returns when the driver had read the latest message from a process, on the node's clock (CH-8);
// ok is false if none came. The table keeps this time for every peer, whether or not LastHeard is ever
// called. As in [ulnet/lnet.Node.LastHeard], any NID of a node stands for the node, and the PID distinguishes
// processes with one NID. A peer that was evicted from the table of peers counts as never heard.
func (t *Table) LastHeard(id nid.ProcessID) (at time.Duration, ok bool) {
	return t.node.LastHeard(id)
}

// LastHeardFrom is LastHeard for messages of one incarnation of the process's NI
// (Event.Incarnation). Messages of other incarnations do not count.
func (t *Table) LastHeardFrom(id nid.ProcessID, incarnation uint64) (at time.Duration, ok bool) {
	return t.node.LastHeardFrom(id, incarnation)
}

// LastSent returns when the latest message to a process left, with the same rules as
// LastHeard. For a PUT or GET that is the time of its SEND event; ACKs and REPLYs, which have
// no such event, count as well.
func (t *Table) LastSent(id nid.ProcessID) (at time.Duration, ok bool) {
	return t.node.LastSent(id)
}

// PeerChange is the change that WatchPeer reports.
type PeerChange = lnet.PeerChange

// WatchPeer calls f when the first connection to a process is made (up) and when the
// last one ends or none can be made (down, with the driver's cause), until stop is
// called. It reports the present state before it returns, with Known set, if this node
// has tried to reach the process; that attempt may be long ago. A process that no
// program connects to stays down, so down is no proof that it is dead.
//
// Calls come one at a time, alternating between up and down. While f runs, changes are
// merged to at most one down and one up, so that an interruption is always reported.
// f runs without locks of this package, in the goroutine that brought the change, which
// may be one of the driver or any that calls the table or the node. It must not block,
// it may call every method, including stop, and the caller of WatchPeer must not hold a
// lock that f takes. A call that has begun may outlast stop.
//
// NIDs and PIDs are as in LastHeard. A node with several NIDs is down when no process with this
// PID is connected at any of its NIDs. The watch goes on when the peer is evicted from the
// table of peers.
func (t *Table) WatchPeer(id nid.ProcessID, f func(PeerChange)) (stop func()) {
	return t.node.WatchPeer(id, f)
}
