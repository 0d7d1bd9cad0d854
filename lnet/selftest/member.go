package selftest

import (
	"context"
	"fmt"
	"syscall"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// Joined is a session that this node has joined.
type Joined struct {
	Session wire.Session `json:"session"` // id of the session, which names its console
	Name    string       `json:"name"`    // name of the session
	Group   string       `json:"group"`   // the group of the console in which this node is
}

// Join asks the console of another node for membership of its session, in a group, which the console
// makes if it is not there. In this way a node that the console does not name, or cannot reach by itself,
// can take part in tests. The node leaves the session as all its nodes do: when the console ends it, or
// is silent for the time-out of sessions. Errors are an *Error with an Errno: EBUSY if the node is in a
// session or asks a console already, EINVAL or EAFNOSUPPORT for an invalid NID, PID or group, EPERM for a
// console that Config.Allow refuses, ETIMEDOUT or EHOSTUNREACH if the console cannot be asked, and what
// the console refuses with. When ctx ends its error is returned; the console may have admitted the node
// all the same, and sees later that the node is not in the session.
func (a *Agent) Join(ctx context.Context, console nid.ProcessID, group string) (Joined, error) {
	over := make(chan engine.Joined, 1)
	id := a.beginJoin(console, group, func(end engine.Joined) { over <- end })
	var end engine.Joined
	select {
	case end = <-over:
	case <-ctx.Done():
		a.runner.Do(engine.Input{Kind: engine.Cancel, ID: id})
		if end = <-over; end.Errno != 0 {
			return Joined{}, ctx.Err()
		}
	}
	if err := explainJoin(console, group, &end); err != nil {
		return Joined{}, err
	}
	return Joined{Session: end.Session, Name: end.Name, Group: group}, nil
}

// beginJoin begins to join a session. done is called once, possibly before beginJoin returns.
func (a *Agent) beginJoin(console nid.ProcessID, group string, done func(engine.Joined)) (id uint64) {
	a.mu.Lock()
	if a.closing {
		a.mu.Unlock()
		done(engine.Joined{Errno: syscall.ESHUTDOWN})
		return 0
	}
	a.joins++
	id = a.joins
	a.joining[id] = done
	a.mu.Unlock()
	a.runner.Do(engine.Input{Kind: engine.Join, ID: id, Peer: console, Group: group})
	return id
}

// joinEnded reports the end of a Join.
func (a *Agent) joinEnded(id uint64, end engine.Joined) {
	a.mu.Lock()
	done := a.joining[id]
	delete(a.joining, id)
	a.mu.Unlock()
	if done != nil {
		done(end)
	}
}

// endJoins ends all Joins under way, because the agent is closed.
func (a *Agent) endJoins() {
	a.mu.Lock()
	under := a.joining
	a.joining = map[uint64]func(engine.Joined){}
	a.mu.Unlock()
	for _, done := range under { // any order: the Joins are independent
		done(engine.Joined{Errno: syscall.ESHUTDOWN})
	}
}

// explainJoin returns the error of a Join; nil: the node has joined.
func explainJoin(console nid.ProcessID, group string, end *engine.Joined) error {
	fail := func(format string, args ...any) error {
		return &Error{Why: fmt.Sprintf(format, args...), Errno: end.Errno}
	}
	if end.Refused {
		return explainRefusal(console, group, end)
	}
	switch end.Errno {
	case 0:
		return nil
	case syscall.EBUSY:
		return fail("this node is in session %v, or asks a console already: end that first (lst end_session at its console)", end.Session)
	case syscall.EINVAL:
		return fail("console %v or group %q cannot be: use the NID of a node, its PID 12345, and a name of 1 to 31 bytes", console, group)
	case syscall.EAFNOSUPPORT:
		return fail("%v has no form in selftest: use a NID of the console with an IPv4 address", console.NID)
	case syscall.EPERM:
		return fail("this node does not allow %v: add it to selftest_allow", console.NID)
	case syscall.ETIMEDOUT:
		return fail("%v does not answer: see whether it has a console (lnet_selftest, or selftest: 1 of lnetd) that allows this node", console.NID)
	case syscall.EHOSTUNREACH:
		return fail("%v cannot be reached: see whether it is up (lnetctl ping)", console.NID)
	case syscall.EBADMSG:
		return fail("%v has sent a reply without sense: see whether it is a console", console.NID)
	}
	return fail("the agent is closed: make another one")
}

// explainRefusal returns the error of a Join that the console has refused.
func explainRefusal(console nid.ProcessID, group string, end *engine.Joined) error {
	why := fmt.Sprintf("it refuses with %v", end.Errno)
	switch end.Errno {
	case syscall.ESRCH:
		why = "it has no session: make one there first (lst new_session)"
	case syscall.EBUSY:
		why = fmt.Sprintf("group %s is in use there: name another group", group)
	case syscall.EEXIST:
		why = fmt.Sprintf("this node is in group %s already", group)
	case syscall.EPROTO:
		why = fmt.Sprintf("its session has features %#x, of which this node knows %#x", uint32(end.Features), uint32(wire.KnownFeatures))
	case syscall.ENOMEM:
		why = "it has no place for more nodes that join by themselves: add this node there (lst add_group)"
	case syscall.EINVAL:
		why = "it takes no node with this NID, or no group with this name"
	}
	return &Error{Why: fmt.Sprintf("console %v: %s", console.NID, why), Errno: end.Errno}
}
