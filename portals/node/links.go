package node

import (
	"log/slog"
	"net/netip"
	"sync"

	"ulnet/lnd/linkwatch"
	"ulnet/lnet"
)

// links tells NIs of a node when their links change. It covers the NIs whose drivers use an interface of the
// system. The watcher starts with the first such NI.
type links struct {
	node *Node

	mu      sync.Mutex // held while NIs are told of changes, so that they are told in order; taken before the locks of lnet
	watcher *linkwatch.Watcher
	failed  bool // no watcher could be made
	closed  bool
}

// follow begins to watch the link of an NI.
func (l *links) follow(ni *lnet.NI) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.failed {
		return
	}
	if l.watcher == nil {
		w, err := linkwatch.Start(l.changed)
		if err != nil {
			l.failed = true
			l.node.lnet.Log().Warn("links are not watched: an NI without one stays up; is the socket refused by a sandbox?", slog.Any("err", err))
			return
		}
		l.watcher = w
	}
	ni.SetLink(l.watcher.State(ni.NID().Addr()))
}

// changed tells all NIs what the state of their link is. It runs in the watcher's goroutine, which
// starts while follow holds mu; so l.watcher is set here.
func (l *links) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if err := l.watcher.Err(); err != nil {
		l.node.lnet.Log().Error("links are not watched any more: an NI without one is up; restart the node", slog.Any("err", err))
	}
	used := map[netip.Addr]bool{}
	for _, ni := range l.node.lnet.NIs() {
		if driver := l.node.driverOf(ni.Net()); driver != nil && driver.watched {
			a := ni.NID().Addr()
			used[a] = true
			ni.SetLink(l.watcher.State(a))
		}
	}
	l.watcher.Keep(func(a netip.Addr) bool { return used[a] })
}

// close ends the watch. NIs keep their last state.
func (l *links) close() error {
	l.mu.Lock()
	l.closed = true
	w := l.watcher
	l.mu.Unlock()
	if w == nil {
		return nil
	}
	return w.Close()
}
