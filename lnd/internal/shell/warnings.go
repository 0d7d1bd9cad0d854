package shell

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"
)

// Bounds of the memory of warnings, and of the log: packets with forged addresses make any
// number of peers. While a memory is full, one new warning each ten seconds is logged and not
// remembered. A full memory is emptied when it is an hour old.
const (
	maxWarnings  = 4096
	warningsLast = time.Hour
	trickle      = 10 * time.Second
)

// A Reason says why a driver refuses a connection or gives it up.
type Reason interface {
	comparable
	String() string
	// Ordinary reports whether the reason is no cause for alarm.
	Ordinary() bool
}

// A Peer identifies a peer of a driver.
type Peer interface {
	comparable
	String() string
}

// Warnings logs what is wrong with peers and addresses. It remembers what it has logged, so
// that a peer which misbehaves all day is logged once for each reason. The zero value is
// ready; any goroutine may call it.
type Warnings[R Reason, P Peer] struct {
	mu      sync.Mutex
	refused warned[R, P] // refused connections, which any host can cause; guarded by mu
	failed  warned[R, P] // warnings about peers only; guarded by mu
}

type warning[R Reason, P Peer] struct {
	reason R
	peer   P
	addr   netip.Addr
}

// Refused logs that a connection from an address was refused while its peer was not known yet. The
// zero address means that the system could not accept a connection. An ordinary reason is not
// logged.
func (ws *Warnings[R, P]) Refused(log *slog.Logger, why R, from netip.AddrPort, err error) {
	if !why.Ordinary() && ws.first(&ws.refused, warning[R, P]{reason: why, addr: from.Addr()}) {
		what := []any{"reason", why.String()}
		if from.IsValid() {
			what = append(what, "from", from.String())
		}
		log.Warn("connection refused", append(what, "err", err)...)
	}
}

// Failed warns that a peer has failed, unless it has warned of that peer and reason before. A
// failure for an ordinary reason is logged each time, at level debug.
func (ws *Warnings[R, P]) Failed(log *slog.Logger, id P, why R, cause error) {
	switch {
	case why.Ordinary():
		log.Debug("peer", "peer", id.String(), "reason", why.String())
	case ws.first(&ws.failed, warning[R, P]{reason: why, peer: id}):
		log.Warn("peer failed", "peer", id.String(), "reason", why.String(), "err", cause)
	}
}

// first reports whether w is to be logged, and notes it.
func (ws *Warnings[R, P]) first(m *warned[R, P], w warning[R, P]) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return m.add(w, time.Now())
}

// warned is a memory of warnings that were logged.
type warned[R Reason, P Peer] struct {
	seen   map[warning[R, P]]struct{} // warnings that were logged since the time in since
	since  time.Time                  // when the map in seen was last made anew
	latest time.Time                  // when the last warning was logged
}

// add reports whether w is new, so that it is logged.
func (m *warned[R, P]) add(w warning[R, P], now time.Time) bool {
	if _, old := m.seen[w]; old {
		return false
	}
	full := len(m.seen) >= maxWarnings
	if full && now.Sub(m.since) < warningsLast {
		if now.Sub(m.latest) < trickle {
			return false
		}
		m.latest = now
		return true
	}
	if full || m.seen == nil {
		m.seen, m.since = make(map[warning[R, P]]struct{}), now
	}
	m.seen[w], m.latest = struct{}{}, now
	return true
}
