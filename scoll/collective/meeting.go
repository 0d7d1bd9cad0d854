package collective

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// Errors of the operations of this package.
var (
	// ErrIncomplete says that the leader gave up because a member did not arrive.
	ErrIncomplete = errors.New("collective: not all members came")
	// ErrUntold says that all members have arrived, but that not all are known to have been told so. Those that were told
	// have gone on, and the error also wraps the reason, such as a [scoll.Error] whose Result has the others.
	ErrUntold = errors.New("collective: all members came, but not all were told")
	// ErrTwice says that this node already waits at a point with this name.
	ErrTwice = errors.New("collective: this node waits there already: give each point a name of its own")
	// ErrName says that a name is empty or longer than 255 bytes.
	ErrName = errors.New("collective: the name of a point has 1 to 255 bytes")
)

const (
	come byte = iota // asks a member to answer with its data, once it has arrived
	open             // the message that all have arrived; the bulk data is the data of all members
	fail             // the leader says that not all members have arrived
)

// meeting has the points at which members meet, by name. A point exists while this node waits
// at it, or a leader waits for this node to arrive.
type meeting struct {
	a  *scoll.Agent
	id scoll.ServiceID

	mu     sync.Mutex
	points map[string]*point // guarded by mu, as are the points in it
}

// point is one meeting of this node with the others.
type point struct {
	users  int // number of calls and questions that use the point
	here   bool
	own    bool          // this node is the leader
	came   chan struct{} // closed when this node has arrived at the point
	brings []byte
	asking []*scoll.Question // questions of leaders that have no answer yet, in the order in which they came
	leader leading           // the leader whose question this node has answered
	opened chan struct{}     // closed when all have arrived, or the leader has given up
	all    []byte
	err    error
}

// register registers the service of a meeting.
func register(a *scoll.Agent, id scoll.ServiceID, h scoll.Handler) (*meeting, error) {
	m := &meeting{a: a, id: id, points: make(map[string]*point)}
	h.Answer = m.answer
	return m, a.Handle(id, h)
}

// at returns the point with a name. The point stays until leave has been called once for each call of at.
func (m *meeting) at(name string) *point {
	p := m.points[name]
	if p == nil {
		p = &point{came: make(chan struct{}), opened: make(chan struct{})}
		m.points[name] = p
	}
	p.users++
	return p
}

// leave releases a point, and removes it if it is not in use any more.
func (m *meeting) leave(name string, p *point) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.users--; p.users == 0 && m.points[name] == p {
		delete(m.points, name)
	}
}

// enter records that this node has arrived at a point, as the leader if own is true, and returns the point. It returns
// ErrName for an invalid name, and ErrTwice if the node waits there already.
func (m *meeting) enter(name string, brings []byte, own bool) (*point, error) {
	if name == "" || len(name) > 255 {
		return nil, ErrName
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.at(name)
	if p.here {
		p.users--
		return nil, ErrTwice
	}
	p.here, p.own, p.brings = true, own, bytes.Clone(brings) // an answer may be sent after the caller has given up
	close(p.came)
	return p, nil
}

// wait enters a point and waits until the leader opens it. It returns the data of all members, or the reason why the
// leader gave up, or the error of ctx.
func (m *meeting) wait(ctx context.Context, name string, brings []byte) ([]byte, error) {
	p, err := m.enter(name, brings, false)
	if err != nil {
		return nil, err
	}
	defer m.leave(name, p)
	select {
	case <-p.opened:
		return p.all, p.err
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.points[name] == p { // this node gives up; the point is removed although a leader may still wait for this node there
		delete(m.points, name)
	}
	return nil, ctx.Err()
}

// lead enters a point as its leader, waits until all other members are there, and lets them go on.
// If some do not come, the others get ErrIncomplete. The error is ErrUntold if all have come, but not all are known to have been
// told so.
func (m *meeting) lead(ctx context.Context, g *scoll.Group, name string, brings []byte) (*scoll.Result, error) {
	if err := isOf(g, m.id); err != nil {
		return nil, err
	}
	p, err := m.enter(name, brings, true)
	if err != nil {
		return nil, err
	}
	defer m.leave(name, p)
	r, err := g.Call(ctx, scoll.CallConfig{Payload: append([]byte{come}, name...)})
	if err == nil {
		err = r.Err()
	}
	then := scoll.CallConfig{Payload: append([]byte{open}, name...)}
	if err != nil {
		then.Payload[0] = fail
	} else {
		then.Bulk = r.Answer
	}
	told, terr := g.Call(context.WithoutCancel(ctx), then) // the deadline of ctx may be over: without it, a call takes 5 s at most, while the other members wait
	if err != nil {
		return r, errors.Join(err, terr)
	}
	if terr == nil {
		terr = told.Err()
	}
	if terr != nil {
		err = fmt.Errorf("%w: %w", ErrUntold, terr)
	}
	return r, err
}

// isOf returns an error for a group of another service.
func isOf(g *scoll.Group, id scoll.ServiceID) error {
	if g.Service() == id {
		return nil
	}
	return fmt.Errorf("collective: the group is one of service %d, and not of this one, %d: %w", g.Service(), id, scoll.EINVAL)
}

// answer is the handler of the service.
func (m *meeting) answer(ctx context.Context, q *scoll.Question) ([]byte, error) {
	if len(q.Payload) < 2 || len(q.Payload) > 256 {
		return nil, scoll.EPROTO
	}
	name := string(q.Payload[1:])
	switch q.Payload[0] {
	case come:
		return m.answerCome(ctx, q, name)
	case open:
		return nil, m.release(q.Root, name, q.Bulk, nil)
	case fail:
		return nil, m.release(q.Root, name, nil, ErrIncomplete)
	}
	return nil, scoll.ENOTSUP
}

// answerCome answers the leader's message come. It waits until this node has arrived at the point called name, and
// returns the data that this node brings there. If ctx ends before that, it returns ctx's error. If this node waits
// there for another leader, it returns EPERM.
func (m *meeting) answerCome(ctx context.Context, q *scoll.Question, name string) ([]byte, error) {
	m.mu.Lock()
	p := m.at(name)
	p.asking = append(p.asking, q)
	m.mu.Unlock()
	defer m.leave(name, p)
	var err error
	select {
	case <-p.came:
	case <-ctx.Done():
		err = ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last, asks := p.asked(q)
	if err == nil {
		err = m.follow(ctx, p, q, last, asks)
	}
	if err != nil {
		return nil, err
	}
	return p.brings, nil
}

// release lets this node go on, if it waits for the given leader at the point called name. If the node waits there
// for another leader, release returns EPERM; if it does not wait there, release returns nil.
func (m *meeting) release(leader nid.NID, name string, all []byte, err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.points[name]
	switch {
	case p == nil:
		return nil // this node does not wait at the point any more
	case !p.here:
		p.gaveUp(leader)
		return nil
	case p.leader.nid != leader:
		if err != nil {
			p.gaveUp(leader) // this node has come, and has not answered that leader yet
		}
		return refusal("this node does not wait there for the node that asks")
	}
	p.all, p.err = append([]byte(nil), all...), err
	close(p.opened)
	delete(m.points, name)
	return nil
}
