package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/sim/scenario"
)

// protocol is the JSON output of "sim protocols" for a protocol.
type protocol struct {
	Name       string     `json:"name"`
	Summary    string     `json:"summary"`
	Levels     []string   `json:"levels"`
	Options    []option   `json:"options"`
	Verbs      []word     `json:"verbs"`
	Conditions []word     `json:"conditions"`
	Quantities []quantity `json:"quantities"`
}

type option struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Kind    string `json:"kind"`
	Doc     string `json:"doc"`
}

type word struct {
	Name string `json:"name"`
	Args string `json:"args"`
	Doc  string `json:"doc"`
}

type quantity struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Doc  string `json:"doc"`
}

func protocolsCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "protocols [NAME]",
		Short:   "List what can be simulated, or the words of one protocol",
		Example: "  lnetsim protocols flood",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var list []protocol
			var names []string
			for _, p := range protocols {
				names = append(names, p.Name)
				if len(args) == 0 || args[0] == p.Name {
					list = append(list, describe(p))
				}
			}
			switch {
			case len(list) == 0:
				return cli.Usagef("there is no protocol %q: want one of %s", args[0], strings.Join(names, ", "))
			case asJSON:
				return cli.JSON(c.OutOrStdout(), list)
			case len(args) == 1:
				return list[0].print(c.OutOrStdout())
			}
			var t cli.Table
			t.Row("NAME", "LEVELS", "WHAT IT IS")
			for _, p := range list {
				t.Row(p.Name, strings.Join(p.Levels, ", "), p.Summary)
			}
			return t.Print(c.OutOrStdout())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, with all words")
	return c
}

func describe(p *scenario.Protocol) protocol {
	d := protocol{Name: p.Name, Summary: p.Summary, Levels: []string{}, Options: []option{}, Verbs: []word{}, Conditions: []word{}, Quantities: []quantity{}}
	for _, l := range p.Levels {
		d.Levels = append(d.Levels, l.String())
	}
	for _, o := range p.Options {
		d.Options = append(d.Options, option{o.Name, o.Default, kindText(o.Kind, o.Choices), o.Doc})
	}
	for _, v := range p.Verbs {
		d.Verbs = append(d.Verbs, word{v.Name, argsText(v.Args), v.Doc})
	}
	for _, k := range p.AllConditions() {
		d.Conditions = append(d.Conditions, word{k.Name, argsText(k.Args), k.Doc})
	}
	for _, q := range p.Quantities() {
		d.Quantities = append(d.Quantities, quantity{q.Name, q.Unit, q.Doc})
	}
	return d
}

// kindText describes the valid values of an argument.
func kindText(k scenario.Kind, choices []string) string {
	names := map[scenario.Kind]string{
		scenario.Count: "count", scenario.Number: "number", scenario.Duration: "time", scenario.Probability: "probability",
		scenario.Rate: "bandwidth", scenario.Switch: "on or off", scenario.Node: "node", scenario.NodeSet: "nodes", scenario.Word: "word",
	}
	if k == scenario.Choice {
		return strings.Join(choices, ", ")
	}
	return names[k]
}

// argsText returns the arguments in the form of a usage line: NODES [RUMOUR].
func argsText(args []scenario.Arg) string {
	var b []string
	for _, a := range args {
		text := strings.ToUpper(a.Name)
		if a.Optional {
			text = "[" + text + "]"
		}
		b = append(b, text)
	}
	return strings.Join(b, " ")
}

// print prints the options, verbs, conditions and quantities of a protocol as tables.
func (p *protocol) print(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s\nruns on: %s\n", p.Name, p.Summary, strings.Join(p.Levels, ", "))
	var options, verbs, conditions, quantities cli.Table
	options.Row("set OPTION VALUE", "DEFAULT", "KIND", "")
	for _, o := range p.Options {
		options.Row(o.Name, o.Default, o.Kind, o.Doc)
	}
	verbs.Row("at TIME do NODES VERB", "")
	for _, v := range p.Verbs {
		verbs.Row(strings.TrimSpace(v.Name+" "+v.Args), v.Doc)
	}
	conditions.Row("expect, always, never CONDITION", "")
	for _, k := range p.Conditions {
		conditions.Row(strings.TrimSpace(k.Name+" "+k.Args), k.Doc)
	}
	quantities.Row("expect, always, never QUANTITY < NUMBER", "UNIT", "")
	for _, q := range p.Quantities {
		quantities.Row(q.Name, q.Unit, q.Doc)
	}
	var err error
	for _, t := range []*cli.Table{&options, &verbs, &conditions, &quantities} {
		fmt.Fprintln(w)
		err = t.Print(w)
	}
	return err
}
