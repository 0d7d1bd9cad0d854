package collective

import (
	"context"
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// A node that waits at a point has one leader, the one whose question come it has answered. Until that leader opens the
// point or gives up, the node refuses other leaders with EPERM: any node that can send questions could otherwise take the
// leader's place, and then let the node go on although not all have arrived, or keep it waiting. A leader may also die, or
// its last message be lost. So the node accepts another leader once the round of the first one must be over: scoll has
// reported the leader dead, or the deadline of its question has passed, and then the time that it takes to open the point.

// tellTime is how long a leader may take to open a point after the deadline of its question. A call without a deadline
// takes that long.
const tellTime = 5 * time.Second

// leading is a leader whose question a node has answered. The zero value is no leader.
type leading struct {
	nid    nid.NID
	until  time.Time // by then the leader has opened the point, or given up
	deaths uint64    // how often the leader had died, as far as this node knows, when the node answered
}

// goesOn reports whether the leader may still open the point.
func (l *leading) goesOn(a *scoll.Agent) bool {
	round, cancel := context.WithDeadline(context.Background(), l.until) // it has ended already if that time has passed
	defer cancel()
	if !l.nid.IsValid() || round.Err() != nil {
		return false
	}
	alive, deaths := a.Alive(l.nid)
	return alive && deaths == l.deaths
}

// refusal is an error with the status EPERM.
type refusal string

func (r refusal) Error() string { return "collective: " + string(r) }

func (r refusal) Unwrap() error { return scoll.EPERM }

// follow makes the node that asks the leader for which this node waits at the point p, or returns why not. The
// parameters last and asks are the results of p.asked. The caller holds m.mu.
func (m *meeting) follow(ctx context.Context, p *point, q *scoll.Question, last, asks bool) error {
	switch {
	case !asks:
		return scoll.ECANCELED // the leader has given up since it asked
	case p.own:
		if q.Root != q.Self {
			return refusal("this node leads there itself")
		}
	case p.leader.nid == q.Root: // it asks again
	case p.leader.goesOn(m.a):
		return refusal("this node waits there for another leader, " + p.leader.nid.String())
	case !last:
		return refusal("another leader has asked this node since")
	}
	_, deaths := m.a.Alive(q.Root)
	deadline, _ := ctx.Deadline()
	p.leader = leading{q.Root, deadline.Add(tellTime), deaths}
	return nil
}

// asked ends a question of a leader at a point. The result asks is false if the leader has given up since it asked.
// The result last tells whether no other leader has asked later. If several ask before this node arrives, the last one
// is taken, because the others may have died. An earlier question of the same leader may still wait, when that has
// given up and asked again.
func (p *point) asked(q *scoll.Question) (last, asks bool) {
	i := slices.Index(p.asking, q)
	if i < 0 {
		return false, false
	}
	last = i == len(p.asking)-1
	p.asking = slices.Delete(p.asking, i, i+1)
	return last, true
}

// gaveUp ends all questions of a leader at a point at which this node has not arrived yet.
func (p *point) gaveUp(leader nid.NID) {
	p.asking = slices.DeleteFunc(p.asking, func(q *scoll.Question) bool { return q.Root == leader })
}
