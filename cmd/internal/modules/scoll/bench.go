package scoll

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/cmd/internal/cli"
	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/tree"
)

// BenchRequest configures a measurement of a group's latency.
type BenchRequest struct {
	Group     string `json:"group"`          // name of the group
	Count     int    `json:"count"`          // number of broadcasts
	Size      int    `json:"size"`           // bytes of the text of a broadcast
	Tree      string `json:"tree,omitempty"` // tree of the broadcasts; "": the group's
	Live      bool   `json:"live"`           // leave out dead members
	TimeoutMS int64  `json:"timeout_ms"`     // time limit of a member in ms; 0: 5 s
	Trace     bool   `json:"trace"`          // say where the time of some broadcasts went
}

// BenchReply is the result of a measurement, with a value for each broadcast.
type BenchReply struct {
	Group   string `json:"group"`   // name of the group
	Tree    string `json:"tree"`    // tree that was used
	Members int    `json:"members"` // number of members that answered
	// Last is the time from sending at the root to receiving at the last member, in ns, and
	// Bound bounds its error, in ns.
	Last  []int64 `json:"last_ns"`
	Bound int64   `json:"bound_ns"` // largest error of the times in Last, in ns
	// Answered is the time until the root had the aggregated answer, in ns.
	Answered []int64 `json:"answered_ns"`
	// Hop is half of the shortest round trip, and Send the time between two sends of the root, in
	// ns. In package tree these are called latency and overhead.
	Hop  int64 `json:"hop_ns"`
	Send int64 `json:"send_ns"` // time between two sends of the root, in ns
	// Recommended is the tree with the shortest time to the last member; "" for a group
	// without other members.
	Recommended string `json:"recommended,omitempty"`
	// Traces say where the time to the answer went, at some percentiles of it. Only with
	// BenchRequest.Trace.
	Traces []BenchTrace `json:"traces,omitempty"`
}

const (
	maxBench = 100_000 // largest number of broadcasts in a measurement
	// drift bounds the relative drift of two clocks.
	drift = 100e-6
)

// Bench measures the parameters on which the choice of a spanning tree depends (collectives
// design, Choose Spanning Tree). EREMOTEIO: a member does not answer. Other errors are those of
// Broadcast.
func (m *Module) Bench(ctx context.Context, r BenchRequest) (BenchReply, error) {
	if r.Count < 1 || r.Count > maxBench || r.Size < 0 || r.Size > 1<<20 {
		return BenchReply{}, cli.Errnof(syscall.EINVAL, "want 1 to %d broadcasts of 0 to %d bytes", maxBench, 1<<20)
	}
	t, order, err := m.prepare(BroadcastRequest{
		Group: r.Group, Tree: r.Tree, Verb: admin.Clock.String(), Text: make([]byte, r.Size), Live: r.Live, TimeoutMS: r.TimeoutMS,
	}, nil)
	if err != nil {
		return BenchReply{}, err
	}
	if r.Trace {
		order.Verb = admin.Tracing
	}
	b := measurement{target: t, order: order, clocks: map[nid.NID][]clockAt{}}
	if err := b.run(ctx, r.Count); err != nil {
		return BenchReply{}, err
	}
	if err := b.compare(ctx); err != nil {
		return BenchReply{}, err
	}
	return b.reply(), nil
}

// measurement is a benchmark that runs. Each of its rounds is one broadcast.
type measurement struct {
	target *target
	order  admin.Order
	rounds []*admin.Outcome
	other  []*admin.Outcome      // results of broadcasts over a second tree, whose root has more or fewer children
	clocks map[nid.NID][]clockAt // readings of each member's clock, in order
}

// clockAt is the reading of a member's clock in a round.
type clockAt struct {
	round int
	admin.Reading
}

// run sends the broadcasts; before them, it sends one more that makes the group known to the
// members.
func (m *measurement) run(ctx context.Context, count int) error {
	for i := -1; i < count; i++ {
		o, err := m.target.outcome(ctx, m.order)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return failed(err)
		}
		if err := m.allAnswered(o); err != nil {
			return err
		}
		if i >= 0 {
			m.take(i, o)
		}
	}
	return nil
}

func (m *measurement) allAnswered(o *admin.Outcome) error {
	reply := BroadcastReply{}
	m.target.fill(&reply, m.order, o)
	if reply.Status == BroadcastOK {
		return nil
	}
	err := cli.Errnof(syscall.EREMOTEIO, "not all members answered")
	if len(reply.Unreached) > 0 {
		err = cli.Errnof(syscall.EREMOTEIO, "%v: %s", reply.Unreached[0].NID, reply.Unreached[0].Error)
	}
	if m.order.Verb == admin.Tracing {
		return cli.Hint(err, "members of earlier versions refuse --trace: try without; 'scollctl ping' says who answers")
	}
	return cli.Hint(err, "'scollctl ping' says who does; with gossip, --live leaves out who is dead")
}

// take adds the result of a round.
func (m *measurement) take(round int, o *admin.Outcome) {
	m.rounds = append(m.rounds, o)
	for _, p := range o.Answers {
		if c, err := m.reading(p.Data); err == nil && p.NID != m.target.c.self {
			m.clocks[p.NID] = append(m.clocks[p.NID], clockAt{round, c})
		}
	}
}

// reading parses the reading of a member's clock, which may be part of a trace.
func (m *measurement) reading(data []byte) (admin.Reading, error) {
	if m.order.Verb != admin.Tracing {
		return admin.ParseReading(data)
	}
	t, err := admin.ParseTrace(data)
	return t.Reading, err
}

// best returns the most exact reading of a member's clock for a round. The reading may be of
// another round, in which case its bound grows with the time between the two.
func (m *measurement) best(clocks []clockAt, round int) (best admin.Reading) {
	best.Bound = admin.Unbounded
	// Only the readings of about this many rounds before and after the given round are compared: those of
	// rounds further away rarely have a smaller bound.
	const near = 50
	for _, c := range clocks[max(round-near, 0):min(round+near, len(clocks))] {
		between := m.rounds[c.round].Sent - m.rounds[round].Sent
		age := time.Duration(max(between, -between))
		if bound := c.Bound + time.Duration(float64(age)*drift); bound < best.Bound {
			best = c.Reading
			best.Bound = bound
		}
	}
	return best
}

// reply computes the result.
func (m *measurement) reply() BenchReply {
	r := BenchReply{Group: m.target.group.name, Tree: m.target.tree.String(), Members: len(m.rounds[0].Answers), Hop: int64(admin.Unbounded)}
	for i, o := range m.rounds {
		var last int64
		for _, clocks := range m.clocks { // any order: the largest bound counts
			if i >= len(clocks) {
				continue
			}
			best := m.best(clocks, i)
			last = max(last, clocks[i].Received-int64(best.Offset)-o.Sent)
			r.Bound = max(r.Bound, int64(best.Bound))
			r.Hop = min(r.Hop, int64(best.Bound))
		}
		r.Last, r.Answered = append(r.Last, last), append(r.Answered, int64(o.Elapsed))
	}
	if m.order.Verb == admin.Tracing {
		r.Traces = m.traces()
	}
	if r.Hop == int64(admin.Unbounded) {
		r.Hop = 0
		return r
	}
	r.Send = m.betweenSends()
	r.Recommended = fmt.Sprint(tree.Recommend(m.rounds[0].Nodes, time.Duration(r.Hop), time.Duration(r.Send)))
	return r
}

// flatNodes bounds how many members the root sends to directly in the comparison.
const flatNodes = 64

// compare sends a few broadcasts over another tree, in which the root has more children or fewer
// than in the measured one.
func (m *measurement) compare(ctx context.Context) error {
	binomial, wide := scoll.Tree{Type: scoll.KNomial, K: 2}, scoll.Tree{Type: scoll.KNomial, K: 16}
	if m.rounds[0].Nodes <= flatNodes {
		wide = scoll.Tree{Type: scoll.KAry, K: tree.MaxK}
	}
	t := *m.target
	if t.tree = wide; m.target.tree == wide {
		t.tree = binomial
	}
	o := measurement{target: &t, order: m.order, clocks: map[nid.NID][]clockAt{}}
	err := o.run(ctx, min(len(m.rounds), 50))
	m.other = o.rounds
	return err
}

// betweenSends returns the time between two sends of the root. It compares two trees, and
// divides the difference in sending time by the difference in children, so that the time to
// start a broadcast cancels out.
func (m *measurement) betweenSends() int64 {
	sending, children := typicalSend(m.rounds)
	more, moreChildren := typicalSend(m.other)
	if d := moreChildren - children; d != 0 && (more-sending)/d > 0 {
		return (more - sending) / d
	}
	return sending / max(children, 1)
}

// typicalSend returns the median of the sending time, and the number of children.
func typicalSend(rounds []*admin.Outcome) (sending, children int64) {
	var all []int64
	for _, o := range rounds {
		all = append(all, int64(o.Sending))
		children = int64(o.Children)
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[len(all)/2], children
}
