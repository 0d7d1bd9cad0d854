package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ulnet/health"
	"ulnet/health/engine"
	healthwire "ulnet/health/wire"
	"ulnet/lnet/nid"
)

// massacre is a few servers in virtual time, and what is on its way between them:
// the clients of the first one die together.
type massacre struct {
	ids     []nid.NID
	servers []*engine.Server
	wakes   []time.Duration
	now     time.Duration
	flying  []delivery // ordered by their time
	gone    int        // evictions, of all servers
	first   time.Duration
	last    time.Duration
	sent    int // broadcasts
}

// delivery is something that arrives later.
type delivery struct {
	at time.Duration
	do func() error
}

// The cluster of the deaths: a broadcast reaches every server after half of
// broadcastTime, and its answer is back after the other half.
const (
	massacreServers = 5
	broadcastTime   = 100 * time.Millisecond
)

func newMassacre(clients int) (*massacre, error) {
	m := &massacre{now: time.Hour}
	for i := range massacreServers {
		m.ids = append(m.ids, nid.FromNumber(crowdNet, 10<<24+uint32(i)+1))
	}
	for i, id := range m.ids {
		s, err := engine.NewServer(health.ServerConfig{Self: id, Incarnation: 1, Servers: m.ids})
		if err != nil {
			return nil, err
		}
		m.servers, m.wakes = append(m.servers, s), append(m.wakes, 0)
		for k, other := range m.ids {
			if k != i {
				m.step(i, engine.ServerInput{Kind: engine.ServerHealth, Server: other, Alive: true})
			}
		}
		m.step(i, engine.ServerInput{Kind: engine.QuorumIs, Alive: true})
	}
	m.now += 2 * time.Second // the servers do not hear whom the others have evicted
	for i, s := range m.servers {
		m.step(i, engine.ServerInput{})
		for k := range clients {
			m.step(i, engine.ServerInput{Kind: engine.Arrived, From: crowdHost(k), Data: crowdConnect(k, m.ids[0])})
		}
		if n := s.Status().Clients; n != clients {
			return nil, fmt.Errorf("server %d has %d of %d clients", i, n, clients)
		}
	}
	return m, nil
}

// step steps a server and does what it wants. The output is its own: what a step
// wants can make another one step.
func (m *massacre) step(i int, in engine.ServerInput) {
	var out engine.ServerOutput
	m.wakes[i] = m.servers[i].Step(m.now, in, &out)
	for k := range out.Effects {
		switch e := &out.Effects[k]; e.Kind {
		case engine.DoSave:
			if e.ID != 0 {
				m.step(i, engine.ServerInput{Kind: engine.Saved, ID: e.ID})
			}
		case engine.DoBroadcast:
			m.broadcast(i, e.ID, slices.Clone(out.Data(e)))
		case engine.DoAnswer:
			e.Token.(func([]byte))(slices.Clone(out.Data(e)))
		case engine.DoTell:
			if e.Event.Kind == health.ClientEvicted {
				if m.gone++; m.gone == 1 {
					m.first = m.now
				}
				m.last = m.now
			}
		}
	}
}

// broadcast asks the others, and brings back what they say.
func (m *massacre) broadcast(root int, id uint64, request []byte) {
	m.sent++
	reply := (&healthwire.Reply{}).AppendBinary(nil)
	m.after(broadcastTime/2, func() error {
		for i := range m.servers {
			if i != root {
				m.step(i, engine.ServerInput{Kind: engine.EvictArrived, Server: m.ids[root], Data: request, Token: func(b []byte) {
					reply = healthwire.MergeReplies(reply, b)
				}})
			}
		}
		return nil
	})
	m.after(broadcastTime, func() error {
		r, err := healthwire.ParseReply(reply)
		if err == nil && int(r.Evicted+r.Unknown) == 0 {
			err = fmt.Errorf("nobody answered broadcast %d", id)
		}
		m.step(root, engine.ServerInput{Kind: engine.BroadcastDone, ID: id, Data: reply})
		return err
	})
}

func (m *massacre) after(d time.Duration, do func() error) {
	at := m.now + d
	i, _ := slices.BinarySearchFunc(m.flying, at+1, func(d delivery, at time.Duration) int { return int(d.at - at) })
	m.flying = slices.Insert(m.flying, i, delivery{at, do})
}

// run lets time pass until so many evictions were made.
func (m *massacre) run(ctx context.Context, evictions int) error {
	for end := m.now + time.Minute; m.gone < evictions; {
		next := slices.Min(m.wakes)
		if len(m.flying) > 0 {
			next = min(next, m.flying[0].at)
		}
		if m.now = max(m.now, next); m.now > end {
			return fmt.Errorf("%d of %d evictions in a minute", m.gone, evictions)
		}
		for i, wake := range m.wakes {
			if wake <= m.now {
				m.step(i, engine.ServerInput{})
			}
		}
		for len(m.flying) > 0 && m.flying[0].at <= m.now {
			do := m.flying[0].do
			m.flying = m.flying[1:]
			if err := do(); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// measureDeaths is the part of G-CH-5 that says how long very many evictions take.
func measureDeaths(ctx context.Context, b *bench) ([]line, error) {
	timing, err := health.Timing{}.Filled()
	if err != nil {
		return nil, err
	}
	clients := pick(b, 1000, 10_000, 10_000)
	m, err := newMassacre(clients)
	if err != nil {
		return nil, err
	}
	due := m.now + timing.Evict // all were heard of at the same time
	if err := m.run(ctx, clients*massacreServers); err != nil {
		return nil, err
	}
	return []line{{
		what:  fmt.Sprintf("%d clients of one master die at once: from T_evict until all servers have evicted all", clients),
		ratio: (m.last - due).Seconds(), unit: "s", limit: 2,
		basis: fmt.Sprintf("virtual time, %d servers, %d broadcasts of %v, from the first to the last eviction %v", massacreServers, m.sent, broadcastTime, m.last-m.first),
	}}, nil
}
