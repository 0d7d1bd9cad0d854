package scoll

import (
	"log/slog"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/engine"
)

// SetListed sets which nodes are listed. All other nodes are strangers. This node bounds the
// resources that all strangers together use, and the number of addresses to which they make it
// send, so that they cannot keep listed nodes from working. With nil, the default, no node is a
// stranger. The function must be pure; when the list changes, call SetListed again, which does
// not affect groups that this node already knows.
func (a *Agent) SetListed(listed func(nid.NID) bool) {
	a.tell(engine.Input{Kind: engine.Listed, Listed: listed})
}

// SetPropagation changes Config.Propagation, for attempts of broadcasts that end from now on. It must be
// positive.
func (a *Agent) SetPropagation(d time.Duration) {
	a.tell(engine.Input{Kind: engine.Convergence, Timeout: d})
}

// wall returns the wall clock for the machine, in ns since 1970; 0: there is none.
func (a *Agent) wall() uint64 {
	if a.cfg.Wall == nil {
		return 0
	}
	return uint64(max(a.cfg.Wall().UnixNano(), 0))
}

// warnEvery is the time between two warnings about incarnations ahead of the clock.
const warnEvery = time.Minute

// warnAhead logs that this node refused an incarnation, or that a member refused one.
func (a *Agent) warnAhead(e *engine.Effect) {
	kind := 0
	if e.Status != OK {
		kind = 1
	}
	now := a.cfg.Clock.Now()
	if now < a.warnings[kind] {
		return
	}
	a.warnings[kind] = now + warnEvery
	if kind == 1 {
		a.log.Warn("a member refused a request because an incarnation in it is far above its wall clock: compare the clocks of all servers, see docs/collectives.md",
			slog.Any("nid", e.To))
		return
	}
	a.log.Warn("refused a request because an incarnation in it is far above the wall clock: compare the clocks of all servers, see docs/collectives.md",
		slog.Any("nid", e.To), slog.Uint64("incarnation", e.Bits), slog.Duration("slack", engine.IncarnationSlack))
}
