// Package rival defines worker processes for ulnet and for other systems that take the same commands, so
// that one script compares the systems. cmd/bench implements the workers of ulnet, cmd/bench/peers
// those of memberlist, etcd and NATS.
package rival

import (
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"ulnet/cmd/bench/worker"
)

// Node are the parameters of a node of a membership system.
type Node struct {
	Base  netip.Addr // address of the first node, by which others join; node i has the i-th address after it
	Index int        // index of this node
	Nodes int        // number of nodes that start together
	Port  uint16     // port of all nodes

	Interval  time.Duration // gossip interval of gossip and memberlist
	Heartbeat time.Duration // heartbeat interval of zones; 0: the default
	Monitor   bool          // the first node is a monitor of its zone
}

// Addr returns the address of node i.
func (n Node) Addr(i int) netip.Addr {
	a := n.Base.As4()
	a[3] += byte(i)
	return netip.AddrFrom4(a)
}

// Self returns the address of this node.
func (n Node) Self() netip.Addr { return n.Addr(n.Index) }

// At returns the index of the node with an address.
func (n Node) At(a netip.Addr) int { return int(a.As4()[3]) - int(n.Base.As4()[3]) }

// News is an event that a membership system has reported at a node.
type News struct {
	At    time.Time // time of the event, by the wall clock
	Kind  Change    // what happened to Node
	Node  int       // index of the node that the event is about
	Value string    // if Kind is Attribute: new value of the attribute
}

// Change is a kind of event about a node.
type Change string

// The kinds of events.
const (
	Up        Change = "up"
	Down      Change = "down"
	Attribute Change = "attribute" // the node's attribute has a new value
)

// Traffic is what a node has sent and used so far.
type Traffic struct {
	Bytes, Messages uint64        // payload bytes and messages that were sent
	CPU             time.Duration // CPU time of the node's process
}

// Member are the operations of a node; nil for a system without such operations, such as gossip.
type Member interface {
	Leave() error
	Set(value string) error
}

// Watcher receives the events and counts the messages of a node.
type Watcher struct {
	w               *worker.Worker
	bytes, messages atomic.Uint64
}

// Sent counts a message with n bytes of payload.
func (s *Watcher) Sent(n int) {
	s.bytes.Add(uint64(n))
	s.messages.Add(1)
}

// Tell reports an event about a node.
func (s *Watcher) Tell(kind Change, node int, value string) {
	s.w.Tell(News{time.Now(), kind, node, value})
}

// Alive reports that a node is up or down.
func (s *Watcher) Alive(node int, alive bool) {
	kind := Down
	if alive {
		kind = Up
	}
	s.Tell(kind, node, "")
}

// Membership returns the kind of worker that is a node of a system. When the node is ready, the
// worker returns the time at which it began to start. The orders "leave" and "set" also return the
// times at which they began. The order "traffic" returns a Traffic.
func Membership(system string, start func(n Node, s *Watcher) (Member, error)) worker.Kind {
	return worker.Of(system, func(w *worker.Worker, n Node) (time.Time, error) {
		began, s := time.Now(), &Watcher{w: w}
		m, err := start(n, s)
		worker.Order(w, "leave", func(struct{}) (time.Time, error) { return time.Now(), m.Leave() })
		worker.Order(w, "set", func(value string) (time.Time, error) { return time.Now(), m.Set(value) })
		worker.Order(w, "traffic", func(struct{}) (Traffic, error) {
			return Traffic{s.bytes.Load(), s.messages.Load(), cpuTime()}, nil
		})
		return began, err
	})
}

// cpuTime returns the CPU time of this process so far.
func cpuTime() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use) // cannot fail with these arguments
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
