package gossip

import (
	"fmt"
	"strings"

	"ulnet/lnet/nid"
)

// RollStatus is how far a change of the list of participants is (GO-A21), as
// far as this node was told by the others themselves: it hears of about two of
// them in each cycle.
type RollStatus struct {
	Staged    bool         `json:"staged"`    // a change waits for Commit here
	Committed bool         `json:"committed"` // this node has committed, others perhaps not
	N         int          `json:"n"`         // of the list in force here
	Digest    string       `json:"digest"`
	NewN      int          `json:"new_n,omitempty"` // of the list that is changed to
	NewDigest string       `json:"new_digest,omitempty"`
	Members   []RollMember `json:"members,omitempty"` // of both lists, by NID
}

// RollMember is a participant of the old or the new list.
type RollMember struct {
	NID    nid.NID   `json:"nid"`
	State  RollState `json:"state"`
	Health Health    `json:"health"`
	Joins  bool      `json:"joins,omitempty"`  // it is in the new list only
	Leaves bool      `json:"leaves,omitempty"` // it is in the old list only
}

// RollStatus returns how far a change of the list is.
func (m *Machine) RollStatus() RollStatus {
	r := &m.roll
	s := RollStatus{Staged: r.staged(), Committed: r.committed, N: m.list.Len(), Digest: m.list.Digest().String()}
	if r.other == nil {
		return s
	}
	next, old := r.newer(m), m.list
	if r.committed {
		old = r.other.list
	}
	s.NewN, s.NewDigest = next.Len(), next.Digest().String()
	for i, k := 0, 0; i < old.Len() || k < next.Len(); {
		switch {
		case k == next.Len() || i < old.Len() && old.NID(i).Compare(next.NID(k)) < 0:
			s.Members = append(s.Members, m.rollMember(old.NID(i), false, true))
			i++
		case i == old.Len() || old.NID(i).Compare(next.NID(k)) > 0:
			s.Members = append(s.Members, m.rollMember(next.NID(k), true, false))
			k++
		default:
			s.Members = append(s.Members, m.rollMember(next.NID(k), false, false))
			i, k = i+1, k+1
		}
	}
	return s
}

func (m *Machine) rollMember(id nid.NID, joins, leaves bool) RollMember {
	r := RollMember{NID: id, State: m.roll.seen[id], Joins: joins, Leaves: leaves}
	i := m.list.Index(id)
	if i >= 0 {
		r.Health = m.Participant(i).Health
	}
	switch {
	case i != m.self:
	case m.roll.committed:
		r.State = RollCommitted
	default:
		r.State = RollStaged
	}
	return r
}

// Missing returns who is alive and has not staged the change, as far as is
// known. Those that join are not waited for.
func (s *RollStatus) Missing() (ids []nid.NID) {
	for _, m := range s.Members {
		if !m.Joins && m.Health == Alive && m.State < RollStaged {
			ids = append(ids, m.NID)
		}
	}
	return ids
}

// NotStagedError says who keeps a change of the list from being committed.
type NotStagedError struct{ NIDs []nid.NID }

// Error names the first few.
func (e *NotStagedError) Error() string {
	var names []string
	for i, id := range e.NIDs {
		if i == 4 && len(e.NIDs) > 5 {
			names = append(names, fmt.Sprintf("%d more", len(e.NIDs)-i))
			break
		}
		names = append(names, id.String())
	}
	return "gossip: not known to have staged the list: " + strings.Join(names, ", ")
}

// Stage makes the node understand a list that is to replace the present one,
// besides that. It may be one without this node, which then leaves with Commit.
// A list that was staged before is replaced. The error is a *ConfigError.
func (a *Agent) Stage(list *List) error {
	self, err := selfOf(a.table, list)
	switch {
	case self == severalSelves:
		return err
	case self >= 0 && list.NID(self) != a.self:
		return invalid("%v of this node takes part, and is replaced by %v in the list: stop and start for that", a.self, list.NID(self))
	}
	return a.change(Input{Kind: Stage, List: list, Self: self}, func() error { return a.m.stageable(list) })
}

// Commit changes to the list that was staged, when all who are alive are known
// to have staged it, too; otherwise the error is a *NotStagedError. Other
// errors are *ConfigErrors.
func (a *Agent) Commit() error {
	return a.change(Input{Kind: Commit}, func() error {
		s := a.m.RollStatus()
		if missing := s.Missing(); len(missing) > 0 {
			return &NotStagedError{missing}
		}
		return a.needStaged()
	})
}

// CommitAnyway is Commit without regard to the others. Those that have not
// staged the list do not understand this node any more.
func (a *Agent) CommitAnyway() error { return a.change(Input{Kind: Commit}, a.needStaged) }

// Cancel gives up a list that was staged and not committed.
func (a *Agent) Cancel() error { return a.change(Input{Kind: Cancel}, a.needStaged) }

func (a *Agent) needStaged() error {
	switch {
	case a.m.stopped:
		return invalid("stopped")
	case !a.m.roll.staged():
		return invalid("no list is staged")
	}
	return nil
}

// change steps the machine on what is asked, if check has no objection.
func (a *Agent) change(in Input, check func() error) (err error) {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.runner.Inspect(func() { err = check() })
	if err == nil {
		a.runner.Do(in)
	}
	return err
}

// RollStatus returns how far a change of the list is.
func (a *Agent) RollStatus() (s RollStatus) {
	a.runner.Inspect(func() { s = a.m.RollStatus() })
	return s
}
