package admin

import (
	"log/slog"

	"ulnet/scoll"
)

// admit returns nil if a request of another node may do what it is for: run an action, if runs is true, and have its
// bulk data, if there are any. Otherwise it returns the reason.
func (s *Service) admit(r *scoll.Request, runs bool) error {
	if runs {
		if err := s.admitRun(r); err != nil {
			return err
		}
	}
	if n := r.BulkLength(); n > 0 {
		return s.admitBulk(r, n)
	}
	return nil
}

// admitRun returns an error if this node runs actions of the root, but not those that this parent forwards. Otherwise
// it returns nil. The error concerns only broadcasts to the live members: nodes remember their answers to these. If
// this node answered that it refuses, a parent that may not forward actions could send an action of the root ahead of
// the genuine request, which would then get the remembered answer, and not run.
func (s *Service) admitRun(r *scoll.Request) error {
	root, parent := r.RootNID(), r.ParentNID()
	if !r.Live() || r.Repeated() || parent == root {
		return nil
	}
	switch c := &s.cfg; {
	case c.MayAct != nil && c.MayAct(root, root) && !s.mayAct(r):
		return scoll.EPERM
	case c.Distrust != nil && c.Distrust(root) == "" && c.Distrust(parent) != "":
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
	s.stats.denied.Add(1)
	s.cfg.Log.Debug("request refused: see allow_roots and allow_relays", slog.Any("root", r.RootNID()), slog.Any("parent", r.ParentNID()))
	return false
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
