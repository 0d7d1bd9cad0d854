package lnet

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/path"
	"ulnet/lnet/recovery"
	"ulnet/lnet/wire"
)

// Link is the state of an NI's link (ni_fatal_error_on).
type Link struct {
	Down bool  // nothing can leave by the NI, and nothing comes
	Err  error // why the link is down; nil if it is up
	// Changed is the time of the latest change on the node's clock; 0: the link never changed.
	Changed time.Duration
}

// linkState is the Link of an NI. The pointer now is nil as long as the link has been up since the NI was
// added.
type linkState struct {
	now     atomic.Pointer[Link]
	setting sync.Mutex // serializes the calls of set, so that changes are logged in their order
}

func (s *linkState) get() Link {
	if l := s.now.Load(); l != nil {
		return *l
	}
	return Link{}
}

// SetLink tells the NI that its link is up (nil), or the reason why it is down: its interface has no carrier, is down
// or gone, or has lost the NI's address. Messages that are sent, or wait for credits of the NI, then take other NIs,
// or fail with ENETDOWN if there is none. Answers, which have no other path, and messages in the driver are left to
// the driver. This node pushes its new status to the peers that discovery knows. A call that changes nothing is
// cheap, but a driver that follows its interface asks the system for it each time. If the link is already down, the
// new reason replaces the old one.
func (ni *NI) SetLink(down error) {
	if f, ok := ni.lower.(lnd.LinkFollower); ok && down == nil {
		f.LinkUp() // before messages may leave by the NI again
	}
	if !ni.link.set(ni, down) {
		return
	}
	if down != nil {
		ni.node.moveWaiting(ni)
		ni.withdraw()
	} else {
		// The pings while the link was down proved nothing about the NI, and may be far apart by now.
		ni.tellHealth(recovery.Heard)
	}
	ni.node.tellNIWatchers()
}

// set notes the state, and reports whether it has changed between up and down.
func (s *linkState) set(ni *NI, down error) bool {
	s.setting.Lock()
	defer s.setting.Unlock()
	was := s.get()
	if was.Down == (down != nil) && (down == nil || down.Error() == was.Err.Error()) {
		return false
	}
	next := &Link{Down: down != nil, Err: down, Changed: was.Changed}
	if was.Down != next.Down {
		next.Changed = ni.node.cfg.Clock.Now()
	}
	// SetDown comes before Store: a message that reads in s.now that the link is down chooses
	// another path, and that choice must see the NI as down.
	if next.Down {
		ni.rail.SetDown(true)
	}
	s.now.Store(next)
	if !next.Down {
		ni.rail.SetDown(false)
	}
	ni.sayLink(was, *next)
	return was.Down != next.Down
}

// moveWaiting chooses new paths for the messages that wait for a credit of an NI.
func (n *Node) moveWaiting(ni *NI) {
	for _, p := range n.peers.all() {
		if p.ni != ni {
			continue
		}
		p.mu.Lock()
		list := p.queue.Take(func(*lnd.Message) bool { return true })
		ni.wantsNone(p)
		p.mu.Unlock()
		n.sendAllAgain(list)
	}
}

// withdraw makes the driver give back the requests of which no byte has left, if another NI
// leads to their peer. They can be sent by that NI without arriving twice.
func (ni *NI) withdraw() {
	w, ok := ni.lower.(lnd.Withdrawer)
	if !ok {
		return
	}
	v := ni.node.view.Load()
	w.Withdraw(func(lm *lnd.Message) bool { return owner(lm).hasPath(v.Table) })
}

// hasPath reports whether a request that a driver has would find a path by an NI whose link is up, if its path were
// chosen now. It takes no lock, and so does not know the rails of a node beyond a gateway.
func (m *Message) hasPath(t *path.Table) bool {
	q := path.Query{Source: m.Source, Dest: m.Header.DestNID, Kind: m.kind()}
	if m.Group != 0 || m.peer == nil || q.Kind != path.Request && q.Kind != path.Reserved {
		return false
	}
	if q.Dest == m.peer.nid {
		q.To = &m.peer.remote.Remote
	}
	c, err := path.Choose(t, &q)
	return err == nil && !c.Local.Down()
}

// sayLink logs that the link has changed.
func (ni *NI) sayLink(was, is Link) {
	log := ni.node.Log().With(slog.Any("ni", ni.nid))
	switch {
	case is.Down:
		log.Warn("the link of an NI is down: messages take other NIs until it is back; see 'ip link' and 'lnetctl net show'", slog.Any("err", is.Err))
	case was.Down:
		log.Info("the link of an NI is up again", slog.Duration("after", is.Changed-was.Changed))
	}
}

// Link returns the state of the NI's link.
func (ni *NI) Link() Link { return ni.link.get() }

// Status is the NI's status in ping infos of this node: down if its link is down, or if the
// node is a router and the NI's net is silent.
func (ni *NI) Status() wire.Status {
	if ni.Link().Down || ni.silent.Load() {
		return wire.StatusDown
	}
	return wire.StatusUp
}

// linkError returns the reason why nothing can be sent by the NI, or nil.
func (ni *NI) linkError() error {
	l := ni.link.now.Load()
	if l == nil || !l.Down {
		return nil
	}
	return fmt.Errorf("NI %v: %w: %w", ni.nid, syscall.ENETDOWN, l.Err)
}
