package scoll

import (
	"log/slog"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/engine"
)

// SetListed says which nodes may have members and roots of groups here. All others are
// strangers: what they hold here together, and the addresses that they have this node
// send to, are bounded, so that they keep nothing from listed nodes. nil, as at first:
// no node is a stranger. The function always says the same of a NID; when the list
// changes SetListed is called again. Groups that are here stay what they were.
func (a *Agent) SetListed(listed func(nid.NID) bool) {
	a.tell(engine.Input{Kind: engine.Listed, Listed: listed})
}

// wall is the wall clock for the machine.
func (a *Agent) wall() uint64 {
	if a.cfg.Wall == nil {
		return 0
	}
	return uint64(max(a.cfg.Wall().UnixNano(), 0))
}

// warnEvery is how often incarnations ahead of the clock are logged.
const warnEvery = time.Minute

// warnAhead logs that an incarnation was refused, at both ends.
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
