package faultrule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// maxRules bounds the number of rules of each kind.
const maxRules = 1024

// ID names a rule; no other rule of the set ever has it.
type ID uint64

// Stats are what a rule has counted (struct lnet_fault_stat), in messages.
type Stats struct {
	Matched uint64 `json:"matched"` // messages that the rule is about, unless a newer rule has hit them
	Hit     uint64 `json:"hit"`     // messages dropped, failed or delayed; the fields below count them by type
	Put     uint64 `json:"put"`     // PUTs in Hit
	Ack     uint64 `json:"ack"`     // ACKs in Hit
	Get     uint64 `json:"get"`     // GETs in Hit
	Reply   uint64 `json:"reply"`   // REPLYs in Hit
}

// hit counts a message that the rule hits (lnet_fault_stat_inc).
func (s *Stats) hit(t wire.MsgType) {
	s.Hit++
	switch t {
	case wire.Put:
		s.Put++
	case wire.Ack:
		s.Ack++
	case wire.Get:
		s.Get++
	case wire.Reply:
		s.Reply++
	}
}

// State is a rule and what it has counted.
type State struct {
	ID ID `json:"id"` // number of the rule
	Attr
	Stats
}

// Set is a list of rules for each kind. Its random source is given to New.
type Set struct {
	random *rand.Rand
	rules  [kinds][]*rule // by kind: rules, the newest first
	last   ID
}

type rule struct {
	State
	next schedule
}

// New returns a set without rules.
func New(random *rand.Rand) *Set { return &Set{random: random} }

// IsEmpty reports whether there is no rule.
func (s *Set) IsEmpty() bool { return len(s.rules[Drop]) == 0 && len(s.rules[Delay]) == 0 }

// Add adds a rule in front of the others of its kind, so messages are matched with it first. EINVAL:
// see [Attr.Validate]. ENOSPC: there are 1024 rules of this kind.
func (s *Set) Add(now time.Duration, k Kind, a Attr) (ID, error) {
	if err := a.Validate(k); err != nil {
		return 0, err
	}
	if len(s.rules[k]) >= maxRules {
		return 0, fmt.Errorf("there are %d %v rules: %w", maxRules, k, syscall.ENOSPC)
	}
	s.last++
	r := &rule{State: State{ID: s.last, Attr: a}}
	r.next.begin(now, &r.Attr, s.random)
	s.rules[k] = slices.Insert(s.rules[k], 0, r)
	return r.ID, nil
}

// Remove removes the rules of a kind that have this source and this destination. The wildcard as an argument
// stands for every source, or every destination. Remove returns the rules that it has removed.
func (s *Set) Remove(k Kind, source, dest nid.NID) (removed []ID) {
	s.rules[k] = slices.DeleteFunc(s.rules[k], func(r *rule) bool {
		gone := (source.IsAny() || source == r.Source) && (dest.IsAny() || dest == r.Dest)
		if gone {
			removed = append(removed, r.ID)
		}
		return gone
	})
	return removed
}

// Reset clears what the rules of a kind have counted and draws anew which messages they
// hit next.
func (s *Set) Reset(now time.Duration, k Kind) {
	for _, r := range s.rules[k] {
		r.Stats = Stats{}
		r.next.begin(now, &r.Attr, s.random)
	}
}

// Rules returns the rules of a kind, the newest first.
func (s *Set) Rules(k Kind) []State {
	list := make([]State, len(s.rules[k]))
	for i, r := range s.rules[k] {
		list[i] = r.State
	}
	return list
}

// Has reports whether there is a rule with this ID.
func (s *Set) Has(id ID) bool {
	for k := range s.rules {
		if slices.ContainsFunc(s.rules[k], func(r *rule) bool { return r.ID == id }) {
			return true
		}
	}
	return false
}

// Arrives reports whether a message that has arrived at an NI is to be discarded.
func (s *Set) Arrives(now time.Duration, h *wire.Header, local nid.NID) bool {
	return s.fires(now, Drop, h, local, func(r *rule) bool { return r.Classes == 0 }) != nil
}

// Leaves returns the class of failure with which a message that an NI is to send has to
// fail; lnd.FailureNone: it does not.
func (s *Set) Leaves(now time.Duration, h *wire.Header, local nid.NID) lnd.Failure {
	r := s.fires(now, Drop, h, local, func(r *rule) bool { return r.Classes != 0 })
	if r == nil {
		return lnd.FailureNone
	}
	return r.Classes.nth(s.random.IntN(r.Classes.count()))
}

// Waits returns how long a message that has arrived, or is to be sent, has to wait, and the
// rule that delays it. The time is 0 if it need not wait.
func (s *Set) Waits(now time.Duration, h *wire.Header) (ID, time.Duration) {
	r := s.fires(now, Delay, h, nid.NID{}, func(*rule) bool { return true })
	if r == nil {
		return 0, 0
	}
	return r.ID, r.Latency
}

// fires returns the newest rule that hits a message.
func (s *Set) fires(now time.Duration, k Kind, h *wire.Header, local nid.NID, concerns func(*rule) bool) *rule {
	for _, r := range s.rules[k] {
		if !concerns(r) || !r.matches(h, local) {
			continue
		}
		if r.next.hits(now, &r.Attr, &r.Stats, s.random) {
			r.hit(h.Type)
			return r
		}
	}
	return nil
}
