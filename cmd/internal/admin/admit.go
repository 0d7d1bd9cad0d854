package admin

import (
	"log/slog"

	"ulnet/scoll"
)

// admit returns nil if a request of another node may do what it is for, and have its bulk data, if there are any.
// Otherwise it returns the reason. bad is why the request cannot be parsed, or nil. A request that cannot be parsed
// does nothing, so admit checks only its bulk data.
func (s *Service) admit(r *scoll.Request, verb Verb, bad error) error {
	if bad == nil {
		if err := s.admitParent(r, verb); err != nil {
			return err
		}
	}
	if n := r.BulkLength(); n > 0 {
		return s.admitBulk(r, n)
	}
	return nil
}

// admitParent returns an error if this node refuses a request only because of the parent that forwarded it. Otherwise it
// returns nil. The error concerns only broadcasts to the live members: nodes remember their answers to these. If this node
// answered that it refuses, a parent that may not forward a request could send it ahead of the genuine one, which would then
// get the remembered answer.
func (s *Service) admitParent(r *scoll.Request, verb Verb) error {
	root, parent, may := r.RootNID(), r.ParentNID(), s.cfg.MayAct
	if verb == Clients {
		may = s.cfg.MayAsk
	} else if verb != Run {
		return nil
	}
	switch {
	case !r.Live() || r.Repeated() || parent == root || may == nil || !may(root, root): // another parent would make no difference
		return nil
	case !may(root, parent):
		s.deny(r)
		return scoll.EPERM
	case verb == Run && s.cfg.Distrust != nil && s.cfg.Distrust(parent) != "":
		s.stats.distrusted.Add(1)
		return Distrusted
	}
	return nil
}

// admitBulk returns nil if a request may have bulk data, otherwise why not.
func (s *Service) admitBulk(r *scoll.Request, length int) error {
	switch {
	case !s.mayAct(r):
		return scoll.EPERM
	case length > s.cfg.MaxBulk:
		s.stats.bulk.Add(1)
		return scoll.EMSGSIZE
	}
	return nil
}

// mayAct asks Config.MayAct, and counts refusals.
func (s *Service) mayAct(r *scoll.Request) bool {
	if s.cfg.MayAct != nil && s.cfg.MayAct(r.RootNID(), r.ParentNID()) {
		return true
	}
	s.deny(r)
	return false
}

// deny counts a request that is refused because of its root or parent.
func (s *Service) deny(r *scoll.Request) {
	s.stats.denied.Add(1)
	s.cfg.Log.Debug("request refused: see allow_roots and allow_relays", slog.Any("root", r.RootNID()), slog.Any("parent", r.ParentNID()))
}

// take reserves memory for a request of another node, and reports whether there is enough.
func (s *Service) take(memory int64, strange bool) bool {
	if strange && s.strange.Add(memory) > int64(s.cfg.MaxMemory)/4 {
		s.strange.Add(-memory)
		return false
	}
	if s.memory.Add(memory) > int64(s.cfg.MaxMemory) {
		s.give(memory, strange)
		return false
	}
	return true
}

func (s *Service) give(memory int64, strange bool) {
	s.memory.Add(-memory)
	if strange {
		s.strange.Add(-memory)
	}
}
