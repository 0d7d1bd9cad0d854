package fault

import (
	"time"

	"ulnet/lnet/faultrule"
)

// Snapshot is a plan at one instant.
type Snapshot struct {
	Seed       uint64            `json:"seed"`                 // of all random numbers
	Rules      []RuleState       `json:"rules"`                // in order
	Drop       []faultrule.State `json:"drop"`                 // LNet's drop rules, the newest first
	Delay      []faultrule.State `json:"delay"`                // LNet's delay rules, the newest first
	Partition  string            `json:"partition,omitempty"`  // its text, empty for none
	Cut        uint64            `json:"cut"`                  // messages that partitions stopped, also earlier ones
	Paused     bool              `json:"paused"`               // no message leaves or arrives
	PauseLeft  time.Duration     `json:"pause_left,omitempty"` // until the pause ends by itself; 0: never
	Held       int               `json:"held"`                 // messages kept at the moment, copies included
	HeldBytes  int               `json:"held_bytes"`           // their payload
	Overflowed uint64            `json:"overflowed"`           // messages and copies lost because too much was kept
	Refused    uint64            `json:"refused"`              // kept arrivals that broke the protocol
}

// RuleState is a rule and what it has done.
type RuleState struct {
	ID     int    `json:"id"`              // number that Plan.Add returned
	Match  string `json:"match,omitempty"` // see Rule.Match
	Effect string `json:"effect"`          // see Rule.Effect
	Counts
}

// Active reports whether faults are in force, or messages are still kept.
func (s *Snapshot) Active() bool {
	return len(s.Rules)+len(s.Drop)+len(s.Delay) > 0 || s.Partition != "" || s.Paused || s.Held > 0
}

// Snapshot returns the plan as it is.
func (p *Plan) Snapshot() Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Snapshot{
		Seed: p.cfg.Seed, Rules: make([]RuleState, 0, len(p.rules)), Partition: p.partition.String(), Cut: p.cut,
		Drop: p.lnet.Rules(faultrule.Drop), Delay: p.lnet.Rules(faultrule.Delay),
		Paused: p.paused, Held: p.held, HeldBytes: p.heldBytes, Overflowed: p.overflow, Refused: p.refused,
	}
	if p.resumesAt > 0 {
		s.PauseLeft = max(p.resumesAt-p.cfg.Clock.Now(), 1) // the timer is late; 0 would mean that the pause has no end
	}
	for _, r := range p.rules {
		s.Rules = append(s.Rules, RuleState{r.id, r.rule.Match(), r.rule.Effect(), r.counts})
	}
	return s
}
