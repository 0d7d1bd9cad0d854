package softroce

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs"
)

// TestProgress: connections that share a small allowance, over links that lose, repeat and reorder
// packets, get work requests of all kinds at random, some of them from inside upcalls. After each step
// a timer is set as long as a work request is not done (see pair.step), and all are done in the end.
func TestProgress(t *testing.T) {
	effort.OneGoroutine(t)
	seeds := uint64(5)
	if effort.Long() {
		seeds = 2000
	}
	for seed := range seeds {
		m := newMixture(t, seed)
		for range 300 {
			m.post()
		}
		m.end()
	}
}

// mixture is some connections with random work requests.
type mixture struct {
	t         *testing.T
	seed      uint64
	random    *rand.Rand
	allowance *allowance
	pairs     []*pair
	posted    int // work requests that were taken
}

// pick returns one of some numbers.
func (m *mixture) pick(list ...int) int { return list[m.random.IntN(len(list))] }

func newMixture(t *testing.T, seed uint64) *mixture {
	m := &mixture{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 9))}
	m.allowance = &allowance{most: int64(m.pick(1, 4, 20, 100))}
	link := weather{
		delay: time.Duration(m.pick(20, 200, 2000)) * time.Microsecond, jitter: time.Duration(m.pick(0, 30, 300)) * time.Microsecond,
		loss: 0.1 * m.random.Float64(), duplicate: 0.1 * m.random.Float64(),
	}
	for k := range uint64(3) {
		p := newPair(t, 3*seed+k, link, func(c *rcConfig) {
			c.Allowance, c.MaxWindow, c.RetryCount = m.allowance, m.pick(1, 2, 16, 256), unlimitedRetry
			c.AckTimeout = time.Duration(m.pick(67, 537)) * time.Millisecond
		})
		for i := range p.pools {
			p.pools[i].free = m.pick(1, 2, 64)
		}
		m.pairs = append(m.pairs, p)
	}
	return m
}

// post posts some work requests at one end and lets a little time pass.
func (m *mixture) post() {
	p, i := m.pairs[m.random.IntN(len(m.pairs))], m.random.IntN(2)
	later := m.random.IntN(3) == 0
	for range 1 + m.random.IntN(3) {
		list := m.requests(p, i)
		switch err := p.step(i, rcInput{Post: list, Later: later}); {
		case err == nil:
			m.posted += len(list)
		case !errors.Is(err, verbs.ErrFull):
			m.t.Fatal(err)
		}
	}
	if later { // a step without Later stands for the end of the upcall in which the work requests were posted
		_ = p.step(i, rcInput{})
	}
	for _, p := range m.pairs {
		until := p.now + time.Duration(m.random.IntN(300))*time.Microsecond
		p.run(until)
		p.now = until
	}
}

// requests returns signaled work requests: mostly SENDs of one packet, which wait for each other.
func (m *mixture) requests(p *pair, i int) (list []verbs.SendWR) {
	for range 1 + m.random.IntN(m.pick(1, 20)) {
		wr := send(0, make([]byte, m.random.IntN(m.pick(1, testMTU, 4*testMTU))))
		if m.random.IntN(8) == 0 {
			wr = p.write(i, 0, 0, make([]byte, 1+m.random.IntN(40*testMTU)))
		}
		wr.Signaled = true
		list = append(list, wr)
	}
	return list
}

// end ends the faults and checks that everything is done and nothing left.
func (m *mixture) end() {
	done := 0
	for _, p := range m.pairs {
		p.link.loss, p.link.duplicate = 0, 0
		p.run(p.now + time.Minute)
		for i := range p.ends {
			done += len(p.done[i])
			if p.failed[i] != verbs.Success || p.ends[i].sends.len() > 0 || p.pools[i].taken > 0 {
				m.t.Fatalf("seed %d, end %d: %v, %d work requests and %d buffers left", m.seed, i, p.failed[i], p.ends[i].sends.len(), p.pools[i].taken)
			}
		}
	}
	if used := m.allowance.used.Load(); done != m.posted || used != 0 {
		m.t.Fatalf("seed %d: %d of %d work requests done, %d packets are not given back", m.seed, done, m.posted, used)
	}
}
