package healthsim

import (
	"context"
	"fmt"

	"ulnet/lnd/sim/scenario"
)

// RunPlan runs a plan at a level. The error, if it does not hold, says what does not and has
// the plan.
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
			return res, fmt.Errorf("healthsim: seed %d, %s: %s\n%s", seed, o.Text, o.Why, text)
		}
	}
	return res, nil
}

// Plans is what came of many mild plans.
type Plans struct {
	Runs    int
	Failed  int // something did not hold at the end
	False   int // evictions of clients without a cause
	Evicted int // clients that all evicted, for a cause or none
	Masters int // masters lost, so that it is seen that something happened
	First   error
}

// MildPlans runs so many mild plans, from a seed on (G-CH-3).
func MildPlans(ctx context.Context, from uint64, count int) (p Plans, err error) {
	for seed := from; seed < from+uint64(count); seed++ {
		res, err := RunPlan(ctx, scenario.Machines, MildPlan(seed), seed)
		if res == nil {
			return p, err
		}
		if p.Runs++; err != nil {
			if p.Failed++; p.First == nil {
				p.First = err
			}
		}
		for _, m := range res.Measures {
			switch m.Name {
			case "false evictions":
				p.False += int(m.Value)
			case "evictions by all":
				p.Evicted += int(m.Value)
			case "masters lost":
				p.Masters += int(m.Value)
			}
		}
	}
	return p, nil
}
