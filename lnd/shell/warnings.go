package shell

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"
)

// Bounds of the memory of what has been warned of, and of the log: packets with forged
// addresses make as many peers as they like. A memory that is full is emptied when it
// is an hour old, and nothing new is logged before.
const (
	maxWarnings  = 4096
	warningsLast = time.Hour
)

// A Reason is why a driver refuses a connection or gives one up.
type Reason interface {
	comparable
	String() string
	// Ordinary reports whether the reason is no cause for alarm.
	Ordinary() bool
}

// A Peer is what a driver knows its peers by.
type Peer interface {
	comparable
	String() string
}

// Warnings logs what is wrong with peers and addresses. It remembers what it has logged,
// so that one that misbehaves all day is logged once for each reason. The zero value is
// ready; any goroutine may call it.
type Warnings[R Reason, P Peer] struct {
	mu    sync.Mutex
	seen  map[warning[R, P]]struct{} // guarded by mu
	since time.Time                  // guarded by mu: begin of seen
}

type warning[R Reason, P Peer] struct {
	reason R
	peer   P
	addr   netip.Addr
}

// Refused logs that a connection from an address was refused, whose peer is not known yet.
// An ordinary reason is not logged.
func (ws *Warnings[R, P]) Refused(log *slog.Logger, why R, from netip.AddrPort, err error) {
	if !why.Ordinary() && ws.first(log, warning[R, P]{reason: why, addr: from.Addr()}) {
		log.Warn("connection refused", "reason", why.String(), "from", from.String(), "err", err)
	}
}

// Failed logs why a peer failed, at its first time. An ordinary reason is logged each
// time, for those who look for more than warnings.
func (ws *Warnings[R, P]) Failed(log *slog.Logger, id P, why R, cause error) {
	switch {
	case why.Ordinary():
		log.Debug("peer", "peer", id.String(), "reason", why.String())
	case ws.first(log, warning[R, P]{reason: why, peer: id}):
		log.Warn("peer failed", "peer", id.String(), "reason", why.String(), "err", cause)
	}
}

// first reports whether w is to be logged, and notes it.
func (ws *Warnings[R, P]) first(log *slog.Logger, w warning[R, P]) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if _, old := ws.seen[w]; old {
		return false
	}
	if len(ws.seen) >= maxWarnings {
		if time.Since(ws.since) < warningsLast {
			return false
		}
		ws.seen = nil
	}
	if ws.seen == nil {
		ws.seen, ws.since = make(map[warning[R, P]]struct{}), time.Now()
	}
	ws.seen[w] = struct{}{}
	if len(ws.seen) == maxWarnings {
		log.Warn("too many peers fail or are refused to warn of each: counters go on", "quiet until", ws.since.Add(warningsLast))
	}
	return true
}
