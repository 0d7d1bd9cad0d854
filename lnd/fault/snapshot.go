package fault

import (
	"time"

	"ulnet/lnet/faultrule"
)

// Snapshot is a plan at one instant.
type Snapshot struct {
	Seed       uint64            `json:"seed"`                 // seed of all random numbers of the plan
	Rules      []RuleState       `json:"rules"`                // rules of the plan, in the order in which they apply
	Drop       []faultrule.State `json:"drop"`                 // LNet's drop rules, the newest first
	Delay      []faultrule.State `json:"delay"`                // LNet's delay rules, the newest first
	Partition  string            `json:"partition,omitempty"`  // text of the partition; empty for none
	Cut        uint64            `json:"cut"`                  // messages that the present and earlier partitions stopped
	Paused     bool              `json:"paused"`               // no message leaves or arrives
	PauseLeft  time.Duration     `json:"pause_left,omitempty"` // time until the pause ends by itself; 0: it does not
	Held       int               `json:"held"`                 // messages held back at the moment, copies included
	HeldBytes  int               `json:"held_bytes"`           // payload bytes of the messages in Held
	Overflowed uint64            `json:"overflowed"`           // messages and copies lost because too much was held back
	Refused    uint64            `json:"refused"`              // arrivals that were held back and then refused, because they broke the protocol
}

// RuleState is a rule and what it has done.
type RuleState struct {
	ID     int    `json:"id"`              // number of the rule, as Plan.Add returned it
	Match  string `json:"match,omitempty"` // text of the messages that match; see Rule.Match
	Effect string `json:"effect"`          // text of what the rule does; see Rule.Effect
	Counts
}

// Active reports whether faults are in force, or messages are still held back.
func (s *Snapshot) Active() bool {
	return len(s.Rules)+len(s.Drop)+len(s.Delay) > 0 || s.Partition != "" || s.Paused || s.Held > 0
}

// Snapshot returns the present state of the plan.
func (p *Plan) Snapshot() Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Snapshot{
		Seed: p.cfg.Seed, Rules: make([]RuleState, 0, len(p.rules)), Partition: p.partition.String(), Cut: p.cut,
		Drop: p.lnet.Rules(faultrule.Drop), Delay: p.lnet.Rules(faultrule.Delay),
		Paused: p.paused, Held: p.held, HeldBytes: p.heldBytes, Overflowed: p.overflow, Refused: p.refused,
	}
	if p.resumesAt > 0 {
		s.PauseLeft = max(p.resumesAt-p.cfg.Clock.Now(), 1) // the pause is over but its timer is late; 0 would mean that the pause has no end
	}
	for _, r := range p.rules {
		s.Rules = append(s.Rules, RuleState{r.id, r.rule.Match(), r.rule.Effect(), r.counts})
	}
	return s
}
