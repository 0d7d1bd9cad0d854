package engine

import "ulnet/lnet/nid"

// RollStatus is how far a change of the list of participants is (GO-A21), as far as this node
// knows. It counts only what participants have said themselves; about two of them do so in each
// cycle.
type RollStatus struct {
	Staged    bool         `json:"staged"`               // this node has a staged list that waits for Commit
	Committed bool         `json:"committed"`            // this node has committed, other participants perhaps not
	N         int          `json:"n"`                    // number of participants in the list in force here
	Digest    string       `json:"digest"`               // SHA-1 digest of the list in force here, in hexadecimal
	NewN      int          `json:"new_n,omitempty"`      // number of participants in the list that is changed to
	NewDigest string       `json:"new_digest,omitempty"` // digest of the list to change to
	Members   []RollMember `json:"members,omitempty"`    // participants in the old or the new list, sorted by NID
}

// RollMember is a participant of the old or the new list.
type RollMember struct {
	NID    nid.NID   `json:"nid"`              // NID of the participant
	State  RollState `json:"state"`            // state of the participant, as its own messages say
	Health Health    `json:"health"`           // health of the participant, as this node reports it; of one that joins, before the commit, as it would be after it: alive or unknown
	Joins  bool      `json:"joins,omitempty"`  // the participant is in the new list only
	Leaves bool      `json:"leaves,omitempty"` // the participant is in the old list only
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
	switch {
	case i >= 0:
		r.Health = m.Participant(i).Health
	case joins && m.hasHeard(id):
		r.Health = Alive
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

// hasHeard reports whether a participant that joins would be alive if this node committed now.
func (m *Machine) hasHeard(id nid.NID) bool {
	limits, _ := m.cfg.Limits(m.roll.other.list.Len()) // cannot fail: stage has checked the number of participants
	return m.roll.other.ageOf(id, m.ran(), limits.Again) != unheard
}

// NotAlive returns the participants of the list that is changed to that are not alive, as far as this node knows.
func (s *RollStatus) NotAlive() (ids []nid.NID) {
	for _, m := range s.Members {
		if !m.Leaves && m.Health != Alive {
			ids = append(ids, m.NID)
		}
	}
	return ids
}

// Missing returns the participants that are alive and have not staged the change, as far as
// is known. Participants that join are not waited for.
func (s *RollStatus) Missing() (ids []nid.NID) {
	for _, m := range s.Members {
		if !m.Joins && m.Health == Alive && m.State < RollStaged {
			ids = append(ids, m.NID)
		}
	}
	return ids
}
