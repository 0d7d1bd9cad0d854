package gossipsim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"ulnet/lnd/sim/scenario"
)

// plan writes a scenario.
type plan struct {
	strings.Builder
	rng   *rand.Rand
	nodes int
	at    time.Duration
}

func (p *plan) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// length draws how long a trouble lasts: 0.1 to 30 s, short ones as often as long ones.
func (p *plan) length() time.Duration {
	s := 0.1 * math.Pow(300, p.rng.Float64())
	return time.Duration(s * float64(time.Second)).Truncate(time.Millisecond)
}

// some draws neighbours in the numbering, of which there are as many.
func (p *plan) some(count int) (first, last int) {
	first = 1 + p.rng.IntN(p.nodes-count+1)
	return first, first + count - 1
}

// Plan draws a scenario in which nodes die by the dozen and come back, stand still, or are
// cut off by partitions and one-way cuts of all lengths and sizes, sometimes at the same
// time, while a message in twenty is lost at most. No node that is fine may be declared
// dead, no dead one may come back, and in the end all know all.
func Plan(seed uint64) string {
	p := plan{rng: rand.New(rand.NewPCG(seed, 13))}
	p.nodes = 5 + p.rng.IntN(60)
	loss := p.rng.IntN(6)
	p.line("always no-false-death\nalways no-resurrection\nexpect views-equal\nexpect alive %d", p.nodes)
	p.at = 8 * time.Second
	for range 2 + p.rng.IntN(4) {
		end := p.sever(p.length())
		if p.rng.IntN(2) == 0 {
			p.at += time.Duration(p.rng.IntN(3000)) * time.Millisecond
		} else {
			p.at = end + time.Duration(p.rng.IntN(12_000))*time.Millisecond
		}
		p.at = max(end, p.die(p.length())) + time.Duration(p.rng.IntN(20_000))*time.Millisecond
	}
	return fmt.Sprintf("protocol gossip\nnodes %d\nrun %v\nlink latency 1ms±500µs loss %d%%\n", p.nodes, p.at+40*time.Second, loss) + p.String()
}

// sever cuts links until the time that it returns.
func (p *plan) sever(lasts time.Duration) (end time.Duration) {
	end = p.at + lasts
	a, b := p.some(1 + p.rng.IntN(p.nodes-1))
	switch p.rng.IntN(4) {
	case 0:
		return p.at // nothing is cut
	case 1:
		p.line("at %v partition %d-%d", p.at, a, b)
	case 2:
		third := p.nodes / 3
		p.line("at %v partition 1-%d | %d-%d | %d-%d", p.at, third, third+1, 2*third, 2*third+1, p.nodes)
	case 3:
		c, d := p.some(1 + p.rng.IntN(p.nodes-1))
		p.line("at %v cut %d-%d -> %d-%d", p.at, a, b, c, d)
	}
	p.line("at %v heal", end)
	return end
}

// die has some nodes die or stand still until the time that it returns.
func (p *plan) die(lasts time.Duration) (end time.Duration) {
	a, b := p.some(1 + p.rng.IntN(p.nodes/2))
	end = p.at + lasts
	if verb := []string{"kill", "crash", "pause"}[p.rng.IntN(3)]; verb == "pause" {
		p.line("at %v pause %d-%d for %v", p.at, a, b, lasts)
	} else {
		p.line("at %v %s %d-%d\nat %v restart %d-%d", p.at, verb, a, b, end, a, b)
	}
	return end
}

// RunPlan runs a plan. The error, if it does not hold, says what does not and has the plan.
func RunPlan(ctx context.Context, level scenario.Level, text string, seed uint64) (*scenario.Result, error) {
	f, err := scenario.Parse("plan", []byte(text), []*scenario.Protocol{Protocol})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	res, err := scenario.Run(ctx, f, scenario.Options{Seed: &seed, Level: level, SampleEvery: -1})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	for _, o := range res.Expects {
		if !o.OK {
			return res, fmt.Errorf("gossipsim: seed %d, %s: at %v: %s\n%s", seed, o.Text, o.At, o.Why, text)
		}
	}
	return res, nil
}
