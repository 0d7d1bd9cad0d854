package kit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"ulnet/lnd/sim/scenario"
)

// Plan writes a scenario whose words are drawn from a seed.
type Plan struct {
	strings.Builder
	*rand.Rand
}

// NewPlan returns an empty plan. The salt is mixed into the seed, so that plans of different kinds
// with the same seed are unlike.
func NewPlan(seed, salt uint64) Plan { return Plan{Rand: rand.New(rand.NewPCG(seed, salt))} }

// Line writes one line of the scenario.
func (p *Plan) Line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// Pick draws one of the texts.
func (p *Plan) Pick(texts ...string) string { return texts[p.IntN(len(texts))] }

// Mix puts the texts in random order.
func (p *Plan) Mix(texts []string) {
	p.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
}

// Between draws a time of whole milliseconds.
func (p *Plan) Between(a, b time.Duration) time.Duration {
	return (a + time.Duration(p.Int64N(int64(b-a)))).Truncate(time.Millisecond)
}

// RunPlan runs a scenario of a protocol at a level. If a check of the scenario fails, the
// error says which, and has the text of the scenario.
func RunPlan(ctx context.Context, p *scenario.Protocol, level scenario.Level, text string, seed uint64) (*scenario.Result, error) {
	f, err := scenario.Parse("plan", []byte(text), []*scenario.Protocol{p})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	res, err := scenario.Run(ctx, f, scenario.Options{Seed: &seed, Level: level, SampleEvery: -1})
	if err != nil {
		return nil, fmt.Errorf("%s: seed %d on %v: %w\n%s", p.Name, seed, level, err, text)
	}
	for _, o := range res.Expects {
		if !o.OK {
			return res, fmt.Errorf("%s: seed %d on %v: %s: at %v: %s\n%s", p.Name, seed, level, o.Text, o.At, o.Why, text)
		}
	}
	return res, nil
}

// Plans is the result of running many plans.
type Plans struct {
	Runs   int      // number of plans that were run
	Failed []uint64 // seeds of the plans in which a check failed
	First  error    // error of the first plan that failed
	// Sum has the sum of each measure over all runs.
	Sum  map[string]float64
	Some map[string]int // for each measure, the number of runs in which it was above 0
}

// RunPlans runs the plans that the function draw returns for some seeds.
func RunPlans(ctx context.Context, p *scenario.Protocol, level scenario.Level, from uint64, count int, draw func(seed uint64) string) (Plans, error) {
	all := Plans{Sum: make(map[string]float64), Some: make(map[string]int)}
	for seed := from; seed < from+uint64(count); seed++ {
		res, err := RunPlan(ctx, p, level, draw(seed), seed)
		if res == nil {
			return all, err
		}
		if all.Runs++; err != nil {
			if all.Failed = append(all.Failed, seed); all.First == nil {
				all.First = err
			}
		}
		for _, m := range res.Measures {
			if all.Sum[m.Name] += m.Value; m.Value > 0 {
				all.Some[m.Name]++
			}
		}
	}
	return all, nil
}
