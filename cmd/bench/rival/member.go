// Package rival makes nodes of ulnet and of other systems workers that obey the same
// orders, so that a script compares them without knowing which they are. bench has our own
// nodes, cmd/bench/peers those of memberlist and etcd.
package rival

import (
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"ulnet/cmd/bench/worker"
)

// Node is what a node of a membership system is told first.
type Node struct {
	Base  netip.Addr // of the first node, which is known to all; the next ones follow it
	Index int
	Nodes int // that start with it
	Port  uint16

	Interval  time.Duration // of gossip and memberlist
	Heartbeat time.Duration // of zones; 0: the default
	Monitor   bool          // the first node is one, in zones
}

// Addr is the address of a node.
func (n Node) Addr(i int) netip.Addr {
	a := n.Base.As4()
	a[3] += byte(i)
	return netip.AddrFrom4(a)
}

// Self is the address of this one.
func (n Node) Self() netip.Addr { return n.Addr(n.Index) }

// At is the index of the node with an address.
func (n Node) At(a netip.Addr) int { return int(a.As4()[3]) - int(n.Base.As4()[3]) }

// News is an event of a node: what its system told it, and when on the wall clock.
type News struct {
	At    time.Time
	Kind  Change
	Node  int
	Value string // of an attribute
}

// Change is what happened to a node.
type Change string

// What nodes are told.
const (
	Up        Change = "up"
	Down      Change = "down"
	Attribute Change = "attribute" // it has another value
)

// Traffic is what a node has sent, without headers, and computed.
type Traffic struct {
	Bytes, Messages uint64
	CPU             time.Duration
}

// Member is what a system lets a node do besides being there; gossip has none of it.
type Member interface {
	Leave() error
	Set(value string) error
}

// Watcher is the worker of a node, as its system sees it.
type Watcher struct {
	w               *worker.Worker
	bytes, messages atomic.Uint64
}

// Sent counts a message.
func (s *Watcher) Sent(n int) {
	s.bytes.Add(uint64(n))
	s.messages.Add(1)
}

// Tell tells what happened to a node.
func (s *Watcher) Tell(kind Change, node int, value string) {
	s.w.Tell(News{time.Now(), kind, node, value})
}

// Alive is Tell of a node that is up or not.
func (s *Watcher) Alive(node int, alive bool) {
	kind := Down
	if alive {
		kind = Up
	}
	s.Tell(kind, node, "")
}

// Membership is the kind of worker that is a node of a system. When it is ready it says when
// it began; so do the orders "leave" and "set". "traffic" is answered by Traffic.
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

// cpuTime is the CPU time of this process.
func cpuTime() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use) // cannot fail with these arguments
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
