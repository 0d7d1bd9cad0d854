package health

import (
	"slices"
	"strings"

	"ulnet/lnet/nid"
)

// LastWillingError says that a server is the last one that takes clients as their
// master: if it drained, too, they would have nowhere to go.
type LastWillingError struct {
	// Draining are the other live servers that drain, as far as this one knows.
	Draining []nid.NID
}

// Error implements error.
func (e *LastWillingError) Error() string {
	if len(e.Draining) == 0 {
		return "health: no other live server takes clients as their master"
	}
	texts := make([]string, len(e.Draining))
	for i, id := range e.Draining {
		texts[i] = id.String()
	}
	return "health: no other live server takes clients as their master; these drain: " + strings.Join(texts, ", ")
}

// LastWilling reports whether no other live server takes clients as their master, and
// which of them drain. A server that has not said what it does is taken for willing.
func (s *Server) LastWilling() (draining []nid.NID, last bool) {
	last = true
	for i := range s.members.list {
		if m := &s.members.list[i]; int32(i) != s.members.self && s.members.alive(int32(i)) {
			last = last && m.burden.idle != OK
			if m.burden.idle == Draining {
				draining = append(draining, m.id)
			}
		}
	}
	slices.SortFunc(draining, nid.NID.Compare)
	return draining, last
}

// drains reports whether this server has clients choose others. Where no other takes them
// it goes on as if it did not drain: an orphan would find no master, and be evicted.
func (s *Server) drains() bool {
	if !s.drain.on {
		return false
	}
	_, last := s.LastWilling()
	return !last
}

// tell tells all live servers whether this one drains: one message each, once per change.
func (d *drain) tell(s *Server) {
	for i := range s.members.list {
		if int32(i) != s.members.self && s.members.alive(int32(i)) {
			s.sendDigest(int32(i), Digest, nil)
		}
	}
}

// Drain has all clients choose other masters, and takes no new ones as their
// master, until it is called with on false. The last server that takes clients refuses
// with a [*LastWillingError] unless force is set: its clients would keep it as their
// master all the same. Two that are asked at once may both agree.
func (a *ServerAgent) Drain(on, force bool) error {
	var refused error
	a.runner.Inspect(func() {
		if others, last := a.m.LastWilling(); on && !force && last && !a.m.drain.on {
			refused = &LastWillingError{others}
		}
	})
	if refused == nil {
		a.runner.Do(ServerInput{Kind: Drain, Alive: on})
	}
	return refused
}

// Draining lists the other live servers that drain, as far as this one knows.
func (a *ServerAgent) Draining() (list []nid.NID) {
	a.runner.Inspect(func() { list, _ = a.m.LastWilling() })
	return list
}
