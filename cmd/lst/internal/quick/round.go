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
	if err == nil {
		err = m.count(ctx, running) // RPCs that were under way at the stop may have failed
	}
	for _, t := range running {
		if why := m.why(t); why != "" {
			list = append(list, t.lost(why))
			continue
		}
		list = append(list, t.result(&m.Config))
	}
	return list, err
}

// able returns the pairs that can be measured, and the others with the reason why not.
func (m *measurement) able(pairs []pair) (able []*track, lost []Pair) {
	for _, p := range pairs {
		t := &track{pair: p, from: m.From[p.from], to: m.To[p.to], units: m.Concurrency}
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

// start makes a batch with a test of each client with its server, and starts it. It takes a sample before the start, so that
// every RPC that fails counts.
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
	if err := m.count(ctx, running); err != nil || !m.takes(running) {
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

// watch takes samples of the nodes until the round is over. The intervals of the rate begin after the start, which
// takes a while if there are many clients.
func (m *measurement) watch(ctx context.Context, running []*track) error {
	ticker := time.NewTicker(max(m.round/intervals, shortestInterval))
	defer ticker.Stop()
	defer m.time(ctx, running)()
	err := m.count(ctx, running)
	for end := time.Now().Add(m.round); err == nil && time.Now().Before(end); {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		err = m.sample(ctx, running, (*track).add)
	}
	return err
}

// count takes a sample of the nodes that only counts RPCs and errors.
func (m *measurement) count(ctx context.Context, running []*track) error {
	return m.sample(ctx, running, func(t *track, s *wire.StatReply) { t.count(s) })
}

// sample asks the nodes of pairs for their counters, and gives each pair those of its client; nil if that has not answered.
func (m *measurement) sample(ctx context.Context, running []*track, take func(*track, *wire.StatReply)) error {
	var nodes []nid.ProcessID
	for _, t := range running {
		nodes = append(nodes, t.from, t.to)
	}
	answers, err := m.console.Stat(ctx, m.Key, console.Target{Nodes: nodes}, statTimeout)
	m.lose(answers, "stat")
	if err != nil {
		return err
	}
	stats := make(map[nid.ProcessID]*wire.StatReply, len(answers))
	for _, a := range answers {
		stats[a.ID] = a.Stat
	}
	for _, t := range running {
		take(t, stats[t.from])
	}
	return nil
}
