package scoll_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// callPlan is a call in a group with faulty members.
type callPlan struct {
	t      *testing.T
	rng    *rand.Rand
	n      int
	root   int
	live   bool
	late   int // the member whose workers begin after all others have given it up; -1: none
	poison int // the member whose answer cannot be merged with others; -1: none
	lost   int // the member that crashes; -1: none
	when   time.Duration
	fails  map[int]error
	only   []nid.NID
	asked  map[int]bool
	ran    map[int]int
}

// TestRandomCalls: G-SC-8: handlers and merging fail at random, and members die. Each member
// that is asked counts exactly once, as answered, failed or unreached. A member that no fault
// affects has the expected result.
func TestRandomCalls(t *testing.T) {
	spec.Covers(t, "SC-166", "G-SC-8")
	effort.OneGoroutine(t)
	plans, faulty := effort.Of(80, 80, 10_000), 0
	for seed := range uint64(plans) {
		p := newCallPlan(t, seed)
		r := p.run()
		if t.Failed() {
			t.Fatalf("seed %d: %+v, result %+v", seed, p, r)
		}
		if len(r.Failed)+len(r.Unreached) > 0 && r.Answered > 0 {
			faulty++
		}
	}
	if faulty < plans/3 {
		t.Errorf("only %d of %d plans had consequences", faulty, plans)
	}
}

func newCallPlan(t *testing.T, seed uint64) *callPlan {
	rng := rand.New(rand.NewPCG(seed, 17))
	p := &callPlan{
		t: t, rng: rng, n: 2 + rng.IntN(20), late: -1, poison: -1, lost: -1,
		fails: map[int]error{}, asked: map[int]bool{}, ran: map[int]int{},
	}
	p.root = rng.IntN(p.n)
	other := func() int { return (p.root + 1 + rng.IntN(p.n-1)) % p.n }
	if rng.IntN(3) == 0 {
		p.late = rng.IntN(p.n)
	}
	if rng.IntN(3) == 0 {
		p.poison = rng.IntN(p.n)
	}
	if p.live = rng.IntN(3) == 0; p.live || rng.IntN(3) == 0 {
		p.lost, p.when = other(), time.Duration(rng.IntN(3))*150*time.Microsecond
	}
	for range rng.IntN(4) {
		id := rng.IntN(p.n)
		p.fails[id] = fmt.Errorf("%w: node %d has no more", scoll.EBUSY, id)
	}
	filtered := rng.IntN(3) == 0
	for id := range p.n {
		if p.asked[id] = !filtered || rng.IntN(2) == 0; filtered && p.asked[id] {
			p.only = append(p.only, simlnd.NID(sim.NodeID(id)))
		}
	}
	if filtered && p.only == nil {
		p.only = []nid.NID{}
	}
	return p
}

func (p *callPlan) handler(id int) scoll.Handler {
	return scoll.Handler{
		Inline: p.late != id && p.n%2 == 0,
		Answer: func(_ context.Context, q *scoll.Question) ([]byte, error) {
			p.ran[id]++
			if string(q.Payload) != "who?" {
				p.t.Errorf("node %d is asked %q", id, q.Payload)
			}
			return number(1 << id), p.fails[id]
		},
		Merge: func(a, b []byte) ([]byte, error) {
			both := binary.LittleEndian.Uint64(a) | binary.LittleEndian.Uint64(b)
			clear(a)
			switch {
			case binary.LittleEndian.Uint64(a) != 0:
				return nil, errors.New("not reached")
			case p.poison >= 0 && both&(1<<p.poison) != 0:
				return nil, errors.New("poisoned")
			}
			return number(both), nil
		},
	}
}

// run makes the call and returns the result.
func (p *callPlan) run() *scoll.Result {
	views := make([]*view, p.n)
	var s *stacks
	s = newStacks(p.t, p.n, func(id int, cfg *scoll.Config) {
		if p.live {
			views[id] = &view{n: p.n}
			cfg.View, cfg.Propagation = views[id], 20*time.Millisecond
		}
		if id == p.late {
			cfg.Worker = func(f func()) { s.nodes[id].table.Node().Clock().AfterFunc(30*time.Second, f) }
		}
	})
	for id, k := range s.nodes {
		if err := k.agent.Handle(handled, p.handler(id)); err != nil {
			p.t.Fatal(err)
		}
	}
	p.disturb(s, views)
	shape := []scoll.Tree{{}, {Type: scoll.KNomial, K: 3}, {Type: scoll.KAry, K: 1}, {Type: scoll.KAry, K: 2}}[p.rng.IntN(4)]
	var end func() (*scoll.Result, error, bool)
	s.fabric.Do(sim.NodeID(p.root), func(*simlnd.Host) {
		s.nodes[p.root].agent.CreateGroup(scoll.GroupConfig{
			Service: handled, Members: s.members, Tree: shape, Done: func(g *scoll.Group, err error) {
				if err == nil {
					end, err = g.Begin(p.t.Context(), scoll.CallConfig{Payload: []byte("who?"), Only: p.only}, p.live)
				}
				if err != nil {
					p.t.Fatal(err)
				}
			},
		})
	})
	s.run(time.Minute)
	r, err, ended := end()
	if !ended || err != nil {
		p.t.Errorf("ended %v, %v", ended, err)
		return &scoll.Result{}
	}
	p.judge(s, r)
	return r
}

// disturb makes a member die; one other member learns of that later than the rest.
func (p *callPlan) disturb(s *stacks, views []*view) {
	if p.lost < 0 {
		return
	}
	s.fabric.At(s.fabric.Now()+p.when, func() { s.fabric.Crash(sim.NodeID(p.lost)) })
	if !p.live {
		return
	}
	ignorant := p.rng.IntN(p.n)
	for i := range s.nodes {
		if i == p.lost || i == ignorant {
			continue
		}
		s.died(views, i, p.lost)
	}
	if ignorant != p.lost {
		s.fabric.At(s.fabric.Now()+10*time.Millisecond, func() { s.died(views, ignorant, p.lost) })
	}
}

// judge checks that each member counts once, and with the result that the plan expects.
func (p *callPlan) judge(s *stacks, r *scoll.Result) {
	states := map[nid.NID][]string{}
	answers := uint64(0)
	if len(r.Answer) == 8 {
		answers = binary.LittleEndian.Uint64(r.Answer)
	}
	for id := range p.n {
		if nid := simlnd.NID(sim.NodeID(id)); answers&(1<<id) != 0 {
			states[nid] = append(states[nid], "answered")
		}
	}
	for _, f := range r.Failed {
		text := f.Text
		if f.Status == scoll.ETIMEDOUT {
			text = f.Status.String()
		}
		states[f.NID] = append(states[f.NID], text)
	}
	for _, u := range r.Unreached {
		states[u.NID] = append(states[u.NID], "unreached")
		if u.Status == scoll.EPROTO {
			p.t.Errorf("%v is named by nobody", u.NID)
		}
	}
	count := 0
	for id := range p.n {
		got := states[simlnd.NID(sim.NodeID(id))]
		if !p.asked[id] {
			if len(got) > 0 || p.ran[id] > 0 {
				p.t.Errorf("node %d was not asked: %q, ran %d times", id, got, p.ran[id])
			}
			continue
		}
		count++
		if len(got) != 1 || p.ran[id] > 1 {
			p.t.Errorf("node %d is counted as %q, ran %d times", id, got, p.ran[id])
			continue
		}
		p.judgeOne(id, got[0])
	}
	if r.Asked != count || r.Answered+len(r.Failed)+len(r.Unreached) != count {
		p.t.Errorf("%d were asked, not %d", count, r.Asked)
	}
}

func (p *callPlan) judgeOne(id int, got string) {
	want := "answered"
	if err := p.fails[id]; err != nil {
		want = err.Error()
	}
	switch {
	case got == want && p.ran[id] == 1 && id != p.late:
	case got == scoll.ETIMEDOUT.String() && id == p.late:
	case got == "unreached" && p.lost >= 0: // unreached are the lost member, those below it, and members that disagree with the root about which are alive
	case got == "poisoned" && p.poison >= 0 && p.fails[id] == nil:
	default:
		p.t.Errorf("node %d: %q, want %q; ran %d times", id, got, want, p.ran[id])
	}
}
