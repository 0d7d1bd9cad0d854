package main

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"ulnet/gossip/gossipsim"
	"ulnet/gossip/zone/zonesim"
	"ulnet/health/healthsim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll/scollsim"
)

// Each of these files is a measurement that the language of scenarios can express. Words in
// capitals are replaced by the values of the measurement.
//
//go:embed scenarios
var scenarioFiles embed.FS

// scenarioText returns the text of a scenario. Values are pairs of a word and its replacement.
func scenarioText(name string, values ...any) (string, error) {
	text, err := scenarioFiles.ReadFile("scenarios/" + name + ".sim")
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.NewReplacer(words...).Replace(string(text)), err
}

// simulate runs a scenario. Values are pairs of a word and its replacement.
func simulate(ctx context.Context, name string, seed uint64, values ...any) (*scenario.Result, error) {
	return simulateAs(ctx, name, scenario.Options{Seed: &seed}, values...)
}

// simulateAs runs a scenario with options, without samples.
func simulateAs(ctx context.Context, name string, o scenario.Options, values ...any) (*scenario.Result, error) {
	text, err := scenarioText(name, values...)
	if err != nil {
		return nil, err
	}
	f, err := scenario.Parse(name, []byte(text), []*scenario.Protocol{gossipsim.Protocol, zonesim.Protocol, scollsim.Protocol, healthsim.Protocol})
	if err != nil {
		return nil, err
	}
	o.SampleEvery = -1
	res, err := scenario.Run(ctx, f, o)
	if err != nil {
		return nil, fmt.Errorf("%s with %v: %w", name, values, err)
	}
	return res, nil
}

// kept returns an error unless everything that a scenario expects has happened.
func kept(res *scenario.Result, err error) (*scenario.Result, error) {
	if err != nil {
		return nil, err
	}
	for _, o := range res.Expects {
		if !o.OK {
			return nil, fmt.Errorf("%s: at %v: %s", o.Text, o.At, o.Why)
		}
	}
	return res, nil
}
