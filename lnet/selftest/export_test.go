package selftest

import (
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
)

// BeginJoin begins to join a session without waiting for the end, for tests in virtual time.
func (a *Agent) BeginJoin(console nid.ProcessID, group string, done func(error)) {
	a.beginJoin(console, group, func(end engine.Joined) { done(explainJoin(console, group, &end)) })
}
