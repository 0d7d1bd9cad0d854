package gossip

import (
	"ulnet/gossip/engine"
	"ulnet/lnet/nid"
)

// Stage prepares a change from the current list to a new one: from now on the node understands messages
// that use either list. If this node is not in the new list, it leaves at Commit. Stage replaces a list
// that was staged before. The error is an *[Error]: [ErrClosed] after Close, as for all changes of the
// list.
func (a *Agent) Stage(participants []nid.NID) error {
	list, err := engine.NewList(participants)
	if err != nil {
		return err
	}
	self, err := selfOf(a.table, list)
	switch {
	case self == severalSelves:
		return err
	case self >= 0 && list.NID(self) != a.self:
		return wrong("%v of this node takes part, and is replaced by %v in the list: stop and start for that", a.self, list.NID(self))
	}
	return a.change(engine.Input{Kind: engine.Stage, List: list, Self: self}, func() error { return a.m.CanStage(list) })
}

// Commit changes to the staged list if all participants that are alive are known to have
// staged it too. Otherwise the error is an *[Error] with the NIDs of those that have not;
// other errors have no NIDs.
func (a *Agent) Commit() error {
	return a.change(engine.Input{Kind: engine.Commit}, func() error {
		s := a.m.RollStatus()
		if missing := s.Missing(); len(missing) > 0 {
			return &Error{Why: "not known to have staged the list", NIDs: missing}
		}
		return a.m.CanCommit()
	})
}

// CommitAnyway is Commit without the check that all live participants have staged the list.
// Participants that have not staged it no longer understand this node.
func (a *Agent) CommitAnyway() error {
	return a.change(engine.Input{Kind: engine.Commit}, a.m.CanCommit)
}

// Cancel drops a list that was staged and not committed.
func (a *Agent) Cancel() error {
	return a.change(engine.Input{Kind: engine.Cancel}, a.m.CanCommit)
}

// change steps the machine on an input, unless check returns an error. Close may end the steps at any
// moment, so change asks afterwards whether it has.
func (a *Agent) change(in engine.Input, check func() error) (err error) {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.runner.Inspect(func() { err = check() })
	if err == nil {
		a.runner.Do(in)
	}
	if a.closed.Load() {
		return ErrClosed
	}
	return err
}

// RollStatus returns how far a change of the list is.
func (a *Agent) RollStatus() (s RollStatus) {
	a.runner.Inspect(func() { s = a.m.RollStatus() })
	return s
}
