package quick

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// sample has the counters of nodes at one time; nil: the node has not answered.
type sample map[nid.ProcessID]*wire.StatReply

// measure measures pairs, of which no two share a node, at the same time. It returns the results of
// all pairs, also when ctx ends.
func (m *measurement) measure(ctx context.Context, pairs []pair) (list []Pair, err error) {
	running, list := m.able(pairs)
	if len(running) == 0 {
		return list, nil
	}
	if err = m.start(ctx, running); err == nil {
		if !m.takes(running) {
			// If one server has refused the test, no client runs it. Stop the batch, and measure the pairs
			// again without those that have lost nodes.
			if err = m.halt(ctx); err == nil {
				return m.measure(ctx, pairs)
			}
		}
		err = cmp.Or(err, m.watch(ctx, running))
	}
	if ctx.Err() == nil {
		err = cmp.Or(err, m.halt(ctx))
	}
	for _, t := range running {
		if why := m.why(t); why != "" {
			list = append(list, t.failed(why))
			continue
		}
		list = append(list, t.result(&m.Config))
	}
	return list, err
}

// able returns the pairs that can be measured, and the others with the reason why not.
func (m *measurement) able(pairs []pair) (able []*track, lost []Pair) {
	for _, p := range pairs {
		t := &track{pair: p, from: m.From[p.from], to: m.To[p.to]}
		if why := m.why(t); why != "" {
			lost = append(lost, t.failed(why))
			continue
		}
		able = append(able, t)
	}
	return able, lost
}

// why says why a pair cannot be measured, or "".
func (m *measurement) why(t *track) string {
	if why := m.lost[t.from]; why != "" {
		return why
	}
	return m.lost[t.to]
}

// start makes a batch with a test of each client with its server, and starts it.
func (m *measurement) start(ctx context.Context, running []*track) error {
	m.batches++
	batch, clients, servers := fmt.Sprint("batch", m.batches), fmt.Sprint("from", m.batches), fmt.Sprint("to", m.batches)
	var from, to []nid.ProcessID
	for _, t := range running {
		from, to = append(from, t.from), append(to, t.to)
	}
	if err := m.group(ctx, clients, from); err != nil {
		return err
	}
	if err := m.group(ctx, servers, to); err != nil || !m.takes(running) {
		return err
	}
	if err := m.console.AddBatch(ctx, m.Key, batch); err != nil {
		return err
	}
	answers, err := m.console.AddTest(ctx, m.Key, console.Test{
		Batch: batch, From: clients, To: servers, Service: m.Service, BRW: m.BRW,
		Loop: -1, Concurrency: m.Concurrency, Distribute: 1, Span: 1, // client i of the first group sends to server i of the second
	})
	m.lose(answers, "add test")
	if err != nil || !m.takes(running) {
		return err
	}
	m.batch = batch
	answers, err = m.console.Run(ctx, m.Key, batch, runTimeout)
	m.lose(answers, "run")
	return err
}

// group makes a group. Nodes that have left the session meanwhile are asked to join again.
func (m *measurement) group(ctx context.Context, name string, ids []nid.ProcessID) error {
	answers, err := m.console.AddGroup(ctx, m.Key, name, ids)
	m.lose(answers, "join again")
	return err
}

// takes reports whether none of these pairs has a node that is lost.
func (m *measurement) takes(running []*track) bool {
	return !slices.ContainsFunc(running, func(t *track) bool { return m.why(t) != "" })
}

// watch takes samples of the nodes until the round is over.
func (m *measurement) watch(ctx context.Context, running []*track) error {
	var nodes []nid.ProcessID
	for _, t := range running {
		nodes = append(nodes, t.from, t.to)
	}
	ticker := time.NewTicker(max(m.round/intervals, shortestInterval))
	defer ticker.Stop()
	defer m.time(ctx, running)()
	last, err := m.sample(ctx, nodes)
	for end := time.Now().Add(m.round); err == nil && time.Now().Before(end); {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		var next sample
		if next, err = m.sample(ctx, nodes); err == nil {
			for _, t := range running {
				t.add(last[t.from], next[t.from])
			}
			last = next
		}
	}
	return err
}

func (m *measurement) sample(ctx context.Context, nodes []nid.ProcessID) (sample, error) {
	answers, err := m.console.Stat(ctx, m.Key, console.Target{Nodes: nodes}, statTimeout)
	m.lose(answers, "stat")
	s := make(sample, len(answers))
	for _, a := range answers {
		s[a.ID] = a.Stat
	}
	return s, err
}
