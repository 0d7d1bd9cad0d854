package lnet

import (
	"fmt"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/router"
)

// Intervals of the forwarder's timers.
const (
	checkInterval = router.StallTime / 4
	trimInterval  = 10 * time.Second
)

// watch sets two timers: one finds the next hops that have stalled and the slow senders, the other frees buffers
// that are not needed. The caller holds f.mu.
func (f *forwarder) watch(n *Node) {
	if f.checking == nil && !f.stopped {
		f.checking = n.cfg.Clock.AfterFunc(checkInterval, func() { f.check(n) })
	}
	f.watchPool(n)
}

// watchPool sets the timer that trims the pool of buffers. The caller holds f.mu.
func (f *forwarder) watchPool(n *Node) {
	if f.trimming == nil && !f.stopped {
		f.trimming = n.cfg.Clock.AfterFunc(trimInterval, func() { f.trim(n) })
	}
}

func (f *forwarder) check(n *Node) {
	f.mu.Lock()
	f.checking = nil
	if f.ledger.Check(n.cfg.Clock.Now()) {
		f.watch(n)
	}
	slow := f.slowSenders()
	f.settle()
	for _, p := range slow {
		p.closeSlow()
	}
}

// slowSenders returns the peers whose messages keep buffers from others and do not end. The caller holds f.mu.
func (f *forwarder) slowSenders() (slow []*peerNI) {
	for t := f.ledger.Late(); t != nil; t = f.ledger.Late() {
		slow = append(slow, t.Owner.(*transit).from)
	}
	return slow
}

// errSlowSender ends the connections of a slow sender.
var errSlowSender = fmt.Errorf("a message to be forwarded has not arrived within %v, while others wait for its buffer: %w", router.FillTime, syscall.ETIMEDOUT)

// closeSlow ends the connections to a slow sender, by which the driver gives up its messages.
func (p *peerNI) closeSlow() {
	if c, ok := p.ni.lower.(lnd.PeerCloser); ok {
		c.ClosePeer(p.nid, 0, errSlowSender)
	}
}

func (f *forwarder) trim(n *Node) {
	again := f.pool.Trim()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trimming = nil
	if again {
		f.watchPool(n)
	}
}

// stop stops the timers for good.
func (f *forwarder) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	f.review.Stop()
	for _, t := range []machine.Timer{f.checking, f.trimming} {
		if t != nil {
			t.Stop()
		}
	}
	f.checking, f.trimming = nil, nil
}

// detach refuses the messages that came by an NI and wait for a buffer.
func (f *forwarder) detach(ni *NI) {
	f.refuse(ni.node.peers.all(), func(p *peerNI) bool { return p.ni == ni })
}

// refuse refuses the messages that wait for a buffer and came from those peers for which the function of
// returns true. It returns their number.
func (f *forwarder) refuse(peers []*peerNI, of func(*peerNI) bool) (refused int) {
	f.mu.Lock()
	if f.ledger == nil {
		f.mu.Unlock()
		return 0
	}
	var senders []*router.Neighbour
	for _, p := range peers {
		if p.neighbour != nil && of(p) {
			senders = append(senders, p.neighbour)
		}
	}
	refused = f.ledger.RefuseAll(senders)
	f.settle()
	return refused
}

// SetRouterBuffers changes the number of router buffers and their memory
// (lnet_rtrpools_adjust). Zero fields take their defaults. Buffers in use stay until their
// messages have left.
//
//	EINVAL  a number is negative, or the memory is less than 4 MiB
func (n *Node) SetRouterBuffers(cfg router.Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	f := &n.forward
	f.mu.Lock()
	f.config = cfg
	f.pool.SetLimit(cfg.WithDefaults().Memory)
	if f.ledger == nil {
		f.mu.Unlock()
		return nil
	}
	f.ledger.Resize(cfg)
	f.settle()
	return nil
}

// RouterSnapshot is the state of a node as a router.
type RouterSnapshot struct {
	Mode    router.Mode     `json:"mode"`          // mode of forwarding: 0 off, 1 on, 2 stopping, 3 starting
	Buffers router.Snapshot `json:"buffers"`       // state of the buffers, by class
	Memory  int             `json:"memory"`        // bytes of buffers that exist, in use or kept for later messages
	Config  router.Config   `json:"configuration"` // configuration in force
	Routed  uint64          `json:"route_count"`   // number of messages forwarded
	Length  uint64          `json:"route_length"`  // payload bytes of the messages forwarded
}

// Router returns a copy of the state of the node as a router.
func (n *Node) Router() RouterSnapshot {
	f := &n.forward
	s := RouterSnapshot{Memory: f.pool.Bytes(), Routed: f.routed.Load(), Length: f.length.Load()}
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Mode = f.power.Mode()
	s.Config = f.config.WithDefaults()
	l := f.ledger
	if l == nil {
		l = router.New(s.Config)
	}
	s.Buffers = l.Snapshot()
	return s
}
