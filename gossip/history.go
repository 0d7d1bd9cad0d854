package gossip

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"ulnet/lnet/nid"
)

// keptChanges is how many changes an agent remembers.
const keptChanges = 1024

// Change is something that happened, as [Agent.History] tells it.
type Change struct {
	At        time.Duration `json:"-"` // on the agent's clock
	Clock     uint64        `json:"clock"`
	Event     EventKind     `json:"event"`
	NID       nid.NID       `json:"nid,omitzero"`
	Aliveness uint64        `json:"aliveness,omitempty"`
}

// history is a ring of the last changes.
type history struct {
	changes []Change
	next    int
}

func (h *history) add(c Change) {
	if len(h.changes) < keptChanges {
		h.changes = append(h.changes, c)
		return
	}
	h.changes[h.next] = c
	h.next = (h.next + 1) % keptChanges
}

// History returns the last changes, the oldest first.
func (a *Agent) History() []Change {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := &a.history
	return append(append([]Change(nil), h.changes[h.next:]...), h.changes[:h.next]...)
}

// fault logs that the machine broke its contract.
func (a *Agent) fault(err error) {
	var clock uint64
	a.runner.Inspect(func() { clock = a.m.Clock() })
	a.log.Error(fmt.Sprintf("[%d] timer", clock), slog.Any("err", err))
}

// happened logs, remembers and tells an event. Events are applied one after the other.
func (a *Agent) happened(e *Event) {
	c := Change{At: a.clock.Now(), Clock: e.Clock, Event: e.Kind, NID: e.NID, Aliveness: e.Aliveness}
	a.mu.Lock()
	a.history.add(c)
	a.mu.Unlock()
	if a.cfg.Changed != nil {
		a.cfg.Changed(c)
	}
	prefix := fmt.Sprintf("[%d] ", e.Clock)
	if e.Message {
		prefix = fmt.Sprintf("[%d, %d] ", e.Clock, e.Header)
	}
	level, text := slog.LevelInfo, eventTexts[e.Kind]
	if e.Kind == Stopped || e.Kind == Disagreed || e.Kind == QuorumLost || e.Kind == Realigned || e.Kind == NotSigned || e.Kind == ClockRefused {
		level = slog.LevelError
	}
	attrs := []slog.Attr{}
	if e.NID.IsValid() {
		attrs = append(attrs, slog.Any("nid", e.NID))
	}
	a.log.LogAttrs(context.Background(), level, prefix+text, attrs...)
	switch e.Kind {
	case Died, CameAlive:
		a.watchers.tell(e.NID, state{e.Kind == CameAlive, e.Aliveness})
	}
}

var eventTexts = [...]string{
	Died: "participant died", CameAlive: "participant is alive", QuorumWon: "quorum", QuorumLost: "no quorum",
	Disagreed: "participant has other parameters", Stopped: "stopped: our parameters are not those of the others; compare 'gossipctl params' there and here",
	Left:     "left: the new list of participants is without this node",
	SpeaksUp: "silence after the start ends", Paused: "this node stood still", Resynced: "health is reported again",
	Realigned:    "our clock was out of step with the others and has been set to theirs",
	NotSigned:    "messages of participant are not signed with our key: compare key_file there and here, see docs/keys.md",
	ClockRefused: "participant has a clock that cannot be: 'gossipctl explain' shows it",
}

var eventNames = [...]string{
	Died: "died", CameAlive: "alive", QuorumWon: "quorum", QuorumLost: "no-quorum", Disagreed: "disagreed",
	Stopped: "stopped", Left: "left", SpeaksUp: "speaks-up", Paused: "paused", Resynced: "resynced",
	Realigned: "realigned", NotSigned: "not-signed", ClockRefused: "clock-refused",
}

// EventNames returns the names of all kinds of events.
func EventNames() []string { return slices.Clone(eventNames[:]) }

// String returns the name of the kind.
func (k EventKind) String() string { return eventNames[k] }

// MarshalText implements encoding.TextMarshaler.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
