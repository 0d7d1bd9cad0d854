package handlers

import (
	"context"
	"maps"
	"slices"
)

// Replace replaces the handlers. A handler whose name is in the new list and for which keep returns true
// goes on as it is. The others end: a running program gets SIGTERM, and after Grace SIGKILL, and queued events are
// dropped. A new handler with the name of a handler that has been removed, by this call or an earlier one, runs
// its program only after the old handler has ended. After End, Replace does nothing.
func (s *Set) Replace(handlers []Handler, keep func(name string) bool) {
	s.change.Lock()
	defer s.change.Unlock()
	before := map[string]*handler{}
	for _, h := range *s.list.Load() {
		before[h.cfg.Name] = h
	}
	if s.ctx.Err() != nil {
		return
	}
	var list, added []*handler
	for _, cfg := range handlers {
		h := before[cfg.Name]
		if h == nil || !keep(cfg.Name) {
			h = newHandler(cfg, s.cfg, s.run)
			added = append(added, h)
		}
		list = append(list, h)
	}
	s.list.Store(&list)
	for _, h := range before {
		if !slices.Contains(list, h) {
			h.cancel()
			s.leaving[h.cfg.Name] = h
		}
	}
	for _, h := range added {
		s.launch(h, s.leaving[h.cfg.Name])
	}
	s.forget(added)
}

// forget removes from leaving the handlers that have ended, and those for which an added handler of the same name
// waits. The caller holds s.change.
func (s *Set) forget(added []*handler) {
	for _, h := range added {
		delete(s.leaving, h.cfg.Name)
	}
	maps.DeleteFunc(s.leaving, func(_ string, h *handler) bool { return h.hasEnded() })
}

// launch starts the handler h after the handler before, an earlier one of the same name, has ended. If before is
// nil, there was none.
func (s *Set) launch(h, before *handler) {
	var ctx context.Context
	ctx, h.cancel = context.WithCancel(s.ctx)
	s.loops.Go(func() {
		defer close(h.done)
		defer h.cancel()
		if before != nil {
			<-before.done
		}
		h.loop(ctx)
	})
}

// unended returns the names of the handlers that have not ended.
func (s *Set) unended() (names []string) {
	s.change.Lock()
	defer s.change.Unlock()
	for _, h := range slices.Concat(*s.list.Load(), slices.Collect(maps.Values(s.leaving))) {
		if !h.hasEnded() {
			names = append(names, h.cfg.Name)
		}
	}
	slices.Sort(names)
	return names
}
