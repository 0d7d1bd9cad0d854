package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/path"
	"ulnet/lnet/udsp"
)

func udspCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "udsp",
		Short: "Selection rules: which interfaces, nets and routers are preferred",
		Long: `User defined selection policies: rules by which the node prefers some of its
interfaces, of a peer's, or of its routers, in the grammar of Lustre's lnetctl. What
is healthier comes before what is preferred. The rules last until the daemon ends;
the key 'udsp' of its configuration has those of the start.`,
	}
	c.AddCommand(udspAdd(g), udspDel(g), udspShow(g))
	return c
}

func udspAdd(g *globals) *cobra.Command {
	var patterns [3]string
	var priority, index string
	c := &cobra.Command{
		Use:   "add [--src NIDS] [--dst NIDS] [--rte NIDS] [--priority P] [--idx N]",
		Short: "Add a selection rule",
		Long: `Adds a rule at the end of the list, or as number N. A pattern is a net (tcp1) or
NIDs (10.0.0.[1-9/2]@tcp).

  --src             gives local interfaces, or nets, a priority
  --dst             gives interfaces or nets of peers a priority
  --rte             gives interfaces of routers a priority
  --src and --dst   what leaves by --src goes to those interfaces of a peer that are in --dst
  --dst and --rte   messages to --dst prefer the routers --rte

The lowest priority value, 0, is the best, and what no rule names comes last. Of
several rules with a priority the first counts. A rule with the patterns of
another one changes its priority.`,
		Example: `  lnetctl udsp add --src tcp1 --priority 0
  lnetctl udsp add --dst tcp9 --rte '10.0.0.[7-8]@tcp'`,
		Args: cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := parseUDSP(patterns, priority)
			if err != nil {
				return badUDSP(err)
			}
			add := node.AddUDSP{Rule: r}
			if c.Flags().Changed("idx") {
				n, err := parseIndex(index)
				if err != nil {
					return err
				}
				add.Index = &n
			}
			return udspRefused(node.OpAddUDSP.Call(c.Context(), g.client(), add), "cannot add udsp: ")
		},
	}
	c.Flags().StringVarP(&patterns[0], "src", "s", "", "local `NIDS`, or net")
	c.Flags().StringVarP(&patterns[1], "dst", "d", "", "`NIDS` of peers, or net")
	c.Flags().StringVarP(&patterns[2], "rte", "r", "", "`NIDS` of routers, or net")
	c.Flags().StringVarP(&priority, "priority", "p", "", "`PRIORITY` of a rule with one pattern; 0, the default, is the best")
	c.Flags().StringVarP(&index, "idx", "i", "", "`NUMBER` that the rule gets, from 0")
	return c
}

// parseUDSP makes a selection rule of the values of flags.
func parseUDSP(patterns [3]string, priority string) (r udsp.Rule, err error) {
	for i, to := range []*udsp.Pattern{&r.Src, &r.Dst, &r.Rte} {
		if *to, err = udsp.ParsePattern(patterns[i]); err != nil {
			return r, fmt.Errorf("failed to parse %s parameter: %w", [...]string{"src", "dst", "rte"}[i], err)
		}
	}
	if priority != "" {
		p, err := strconv.ParseUint(priority, 10, 32)
		if err != nil || path.Priority(p) == path.NoPriority {
			return r, fmt.Errorf("invalid priority %q: want 0 to %d", priority, path.NoPriority-1)
		}
		if r.Priority = path.Priority(p); r.Dst.IsValid() && (r.Src.IsValid() || r.Rte.IsValid()) {
			return r, fmt.Errorf("a rule with two patterns prefers one for the other, and has no priority")
		}
	}
	return r, r.Validate()
}

// maxIndex is larger than any index of a rule.
const maxIndex = 1 << 20

func parseIndex(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxIndex {
		err := cli.Usagef("invalid index %q: want a number from 0, see 'lnetctl udsp show'", s)
		return 0, textError(exitInvalid, err, "Invalid index %q", s).onStdout()
	}
	return n, nil
}

func udspDel(g *globals) *cobra.Command {
	var index string
	var all bool
	c := &cobra.Command{
		Use:     "del --idx N | --all",
		Short:   "Remove a selection rule, or all",
		Long:    "Removes the rule with a number, as 'udsp show' prints it, or all. The numbers of those behind it become less by one.",
		Example: "  lnetctl udsp del --idx 0",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if all == c.Flags().Changed("idx") {
				return textError(exitInvalid, nil, "Must specify --idx or --all").onStdout()
			}
			r := node.RemoveUDSP{All: all}
			if !all {
				var err error
				if r.Index, err = parseIndex(index); err != nil {
					return err
				}
			}
			return udspRefused(node.OpRemoveUDSP.Call(c.Context(), g.client(), r), "cannot del udsp: ")
		},
	}
	c.Flags().StringVarP(&index, "idx", "i", "", "`NUMBER` of the rule")
	c.Flags().BoolVarP(&all, "all", "a", false, "all rules")
	return c
}

func udspShow(g *globals) *cobra.Command {
	var index string
	c := cli.Question[map[string][]tree.UDSP]{
		Use: "show [--idx N]", Short: "Show the selection rules, in their order",
		Example: "  lnetctl udsp show --json",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) (map[string][]tree.UDSP, error) {
			only := -1
			if index != "" {
				var err error
				if only, err = parseIndex(index); err != nil {
					return nil, err
				}
			}
			u, err := node.OpUDSP.Call(ctx, g.client(), control.None{})
			if err == nil && only >= len(u.Rules) {
				err = cli.Hint(fmt.Errorf("there is no rule %d", only), "'lnetctl udsp show' lists the rules")
			}
			return map[string][]tree.UDSP{"udsp": udspDocs(u, only)}, err
		},
		Print: printRules[tree.UDSP],
	}.Command(&g.json)
	c.Flags().StringVarP(&index, "idx", "i", "", "only the rule with this `NUMBER`")
	return c
}

// printRules prints lists of rules in the layout of the kernel's tool, which prints nothing for
// an empty list.
func printRules[T any](w io.Writer, doc map[string][]T) error {
	for name, list := range doc {
		if len(list) == 0 {
			delete(doc, name)
		}
	}
	return tree.Write(w, doc)
}

// udspDocs makes a document of each rule, or of only one.
func udspDocs(u node.UDSP, only int) []tree.UDSP {
	docs := append([]tree.UDSP{}, node.UDSPTree(u)...)
	if only < 0 {
		return docs
	}
	return docs[min(only, len(docs)):min(only+1, len(docs))]
}

// rulesFor returns the selection rules if the level of detail shows the priorities that they
// give.
func (g *globals) rulesFor(ctx context.Context, level int) (l udsp.List, err error) {
	if level < node.RulesLevel {
		return l, nil
	}
	u, err := node.OpUDSP.Call(ctx, g.client(), control.None{})
	if err != nil {
		return l, err
	}
	return u.List()
}
