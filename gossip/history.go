package gossip

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"ulnet/gossip/engine"
	"ulnet/lnet/nid"
)

// kept is how many events an agent remembers.
const kept = 1024

// Event is an event of gossip: a change of a participant, or of this node's own state.
type Event struct {
	At        time.Duration `json:"-"`                   // time of the event on the agent's clock
	Clock     uint64        `json:"clock"`               // the Lamport clock of this node at that time
	Kind      EventKind     `json:"event"`               // what happened
	NID       nid.NID       `json:"nid,omitzero"`        // the participant that it happened to; none for events of this node
	Aliveness uint64        `json:"aliveness,omitempty"` // how often the participant has died
}

// history is a ring of the last events.
type history struct {
	events []Event
	next   int
}

func (h *history) add(e Event) {
	if len(h.events) < kept {
		h.events = append(h.events, e)
		return
	}
	h.events[h.next] = e
	h.next = (h.next + 1) % kept
}

// History returns the last events, the oldest first.
func (a *Agent) History() []Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := &a.history
	return append(append([]Event(nil), h.events[h.next:]...), h.events[:h.next]...)
}

// fault logs that the machine violated one of its guarantees.
func (a *Agent) fault(err error) {
	var clock uint64
	a.runner.Inspect(func() { clock = a.m.Clock() })
	a.log.Error(fmt.Sprintf("[%d] timer", clock), slog.Any("err", err))
}

// happened logs an event, remembers it and passes it to Notify. It is called for one event
// after the other.
func (a *Agent) happened(e *engine.Event) {
	told := Event{At: a.clock.Now(), Clock: e.Clock, Kind: e.Kind, NID: e.NID, Aliveness: e.Aliveness}
	a.mu.Lock()
	a.history.add(told)
	a.mu.Unlock()
	if a.cfg.Notify != nil {
		a.cfg.Notify(told)
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
		a.watchers.Tell(change{e.NID, state{e.Kind == CameAlive, e.Aliveness}})
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
