package rmcastsim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"ulnet/lnd/sim/scenario"
)

// plan writes a scenario.
type plan struct {
	strings.Builder

	rng   *rand.Rand
	nodes int
}

func (p *plan) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// pick draws one of some texts.
func (p *plan) pick(texts ...string) string { return texts[p.rng.IntN(len(texts))] }

// begin draws a group and its network.
func (p *plan) begin(seed, salt uint64, link string) {
	p.rng = rand.New(rand.NewPCG(seed, salt))
	p.nodes = 1 + p.rng.IntN(24)
	p.line("protocol rmcast\nnodes %d\nrun 60s\ncheck every 250ms", p.nodes)
	p.line("link latency 500µs±400µs%s", link)
	p.line("set managers %d\nset fifo %s\nset multicast %s", 1+p.rng.IntN(min(3, p.nodes)), p.pick("on", "off"), p.pick("on", "on", "on", "off"))
	p.line("set loss %s\nset discovery %s", p.pick("0%", "1%", "10%", "40%"), p.pick("50ms", "200ms", "500ms"))
	p.line("set window %d\nset fragment %d\nset capacity %s", 4+p.rng.IntN(30), 16+p.rng.IntN(200), p.pick("0", "4000"))
	if p.nodes > 4 && p.rng.IntN(3) == 0 { // others join later
		p.line("set members 1-%d", p.nodes-2)
		p.line("at %dms do %d-%d join", 2000+p.rng.IntN(3000), p.nodes-1, p.nodes)
	}
}

// traffic has some nodes send, in the third to fifth second.
func (p *plan) traffic() {
	for range 5 + p.rng.IntN(20) {
		p.line("at %dms do %d send %d %d", 2000+p.rng.IntN(3000), 1+p.rng.IntN(min(p.nodes, 4)), 1+p.rng.IntN(5), 4+p.rng.IntN(2)*p.rng.IntN(400))
	}
	for range p.rng.IntN(3) {
		p.line("at %dms do %d faults %s %s", 1500+p.rng.IntN(2000), 1+p.rng.IntN(p.nodes), p.pick("0%", "10%", "30%"), p.pick("0%", "10%", "100%"))
	}
	if p.nodes > 2 && p.rng.IntN(3) == 0 {
		id := 2 + p.rng.IntN(p.nodes-1)
		p.line("at %dms do %d leave", 2500+p.rng.IntN(2000), id)
		if p.rng.IntN(2) == 0 {
			p.line("at %dms do %d join", 5000+p.rng.IntN(1000), id)
		}
	}
}

// end is the plan: in the end all is over, and nothing is kept.
func (p *plan) end() string {
	p.line("expect over\nexpect idle\nexpect proven\nexpect once\nexpect success-right\nalways bounded")
	return p.String()
}

// MildPlan draws a scenario in which nodes die, come back, stand still or are slow,
// while messages between two nodes come in order and are not lost.
func MildPlan(seed uint64) string {
	var p plan
	p.begin(seed, 3, "")
	p.traffic()
	kinds := []string{"kill", "crash", "pause", "slow", "skew"}
	p.rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	p.line("random faults %d from 1.5s to 8s of %s", 1+p.rng.IntN(1+min(p.nodes/4, 4)), strings.Join(kinds[:1+p.rng.IntN(3)], " "))
	p.line("expect failed-right")
	return p.end()
}

// WildPlan draws a scenario of any faults, many at a time.
func WildPlan(seed uint64) string {
	var p plan
	rng := rand.New(rand.NewPCG(seed, 4))
	p.begin(seed, 5, fmt.Sprintf(" loss %d%% duplicate %d%% reorder %d%%", rng.IntN(3)*rng.IntN(5), rng.IntN(2)*10, rng.IntN(2)*20))
	p.traffic()
	kinds := []string{"kill", "crash", "pause", "partition", "cut", "loss", "duplicate", "reorder", "latency", "slow", "skew"}
	p.rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	p.line("random faults %d from 1s to 10s of %s", 1+p.rng.IntN(min(5, 2+p.nodes/3)), strings.Join(kinds[:1+p.rng.IntN(5)], " "))
	return p.end()
}

// RunPlan runs a plan at a level. The error, if it does not hold, says what does not and
// has the plan.
func RunPlan(ctx context.Context, level scenario.Level, text string, seed uint64) (*scenario.Result, error) {
	f, err := scenario.Parse("plan", []byte(text), []*scenario.Protocol{Protocol})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	res, err := scenario.Run(ctx, f, scenario.Options{Seed: &seed, Level: level, SampleEvery: -1})
	if err != nil {
		return nil, fmt.Errorf("rmcastsim: seed %d: %w\n%s", seed, err, text)
	}
	for _, o := range res.Expects {
		if !o.OK {
			return res, fmt.Errorf("rmcastsim: seed %d, %s: at %v: %s\n%s", seed, o.Text, o.At, o.Why, text)
		}
	}
	return res, nil
}
