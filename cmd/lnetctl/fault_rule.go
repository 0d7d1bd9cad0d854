package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/fault"
)

func faultAdd(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "add [--from NIDS] [--to NIDS] [--type TYPES] [--portal PORTALS] cut|EFFECT VALUE...",
		Short: "Add a rule: lose, delay, double or reorder messages",
		Long: `Adds a rule and prints its number. It is about all messages that this node
sends or receives, or those from and to NIDs (source and destination in their
header, such as '10.0.0.[1-5]@tcp *@tcp1' or 10.0.0.0/24@tcp), of types (PUT,
ACK, GET, REPLY), and to portals (PUTs and GETs alone). Its effects are any of

  loss 5%              that many are lost, and nobody is told
  latency 10ms±2ms     they take so much longer; also 10ms, 10ms~2ms (standard
                       deviation) and 10ms+exp(2ms)
  duplicate 1%         that many come twice
  reorder 1%           that many are held back, so that later ones pass
  hold 5ms             how long those are held back
  cut                  none passes

Of several rules for a message the later ones win where they say something; a
cut cannot be taken back.`,
		Example: `  lnetctl fault add --to 10.0.0.2@tcp --type PUT,ACK loss 5% latency 10ms±2ms
  lnetctl fault add --from '10.0.0.[1-5]@tcp' cut`,
	}
	for _, f := range ruleFlags {
		c.Flags().String(f.word, "", f.usage)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := parseFaultRule(c.Flags(), args)
		if err != nil {
			return cli.Usagef("%w", err)
		}
		added, err := node.OpAddFault.Call(c.Context(), g.client(), node.AddFault{Statement: r.String()})
		if err != nil {
			return err
		}
		return g.print(c, map[string]node.AddedFault{"fault": added})
	}
	return c
}

// ruleFlags are the flags, and words of a rule, that select messages.
var ruleFlags = []struct{ word, usage string }{
	{"from", "messages from these `NIDS`"},
	{"to", "messages to these `NIDS`"},
	{"type", "messages of these `TYPES`, separated by commas"},
	{"portal", "messages to these `PORTALS`, separated by commas"},
}

// parseFaultRule makes a rule of the flags that were given, and of the effects.
func parseFaultRule(flags *pflag.FlagSet, effects []string) (fault.Rule, error) {
	var words []string
	for _, f := range ruleFlags {
		flag := flags.Lookup(f.word)
		if !flag.Changed {
			continue
		}
		value := flag.Value.String()
		if value == "" {
			return fault.Rule{}, fmt.Errorf("--%s has no value: leave it out for all", f.word)
		}
		words = append(words, f.word, value)
	}
	return fault.ParseRule(strings.Join(append(words, effects...), " "))
}

func faultDel(g *globals) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "del NUMBER...|--all",
		Short: "Take rules away",
		Long: `Takes rules away, by the numbers that 'fault list' shows, or all of them. What
they have delayed stays delayed. A number that is none fails, and the others go
all the same. Partitions, pauses and 'fault fail' are not concerned.`,
		Example: "  lnetctl fault del 1 2",
		RunE: func(c *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return cli.Usagef("fault del needs the numbers of rules, or --all")
			}
			ends := []node.EndFault{{Rules: true}}
			if !all {
				ends = nil
			}
			for _, text := range args {
				id, err := strconv.Atoi(text)
				if err != nil || id <= 0 {
					return cli.Usagef("%q is no number of a rule: see 'lnetctl fault list'", text)
				}
				ends = append(ends, node.EndFault{Rule: id})
			}
			var first error
			for _, e := range ends {
				if err := node.OpEndFault.Call(c.Context(), g.client(), e); first == nil {
					first = err
				}
			}
			return first
		},
	}
	c.Flags().BoolVar(&all, "all", false, "all rules")
	return c
}
