package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/faultrule"
)

func faultKindShow(g *globals, k faultrule.Kind) *cobra.Command {
	c := cli.Question[map[string][]netRuleDoc]{
		Use: "show", Short: fmt.Sprintf("Show the %v rules and what they did", k),
		Long: fmt.Sprintf(`Shows the %v rules, the newest first, which is the order in which they are
asked. Matched counts the messages that a rule was asked about and that match it;
hit counts those that it acted on, which the following split by type.`, k),
		Example: fmt.Sprintf("  lnetctl fault %v show --json", k),
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) (map[string][]netRuleDoc, error) {
			s, err := node.OpStatus.Call(ctx, g.client(), control.None{})
			rules := map[faultrule.Kind][]faultrule.State{faultrule.Drop: s.Faults.Plan.Drop, faultrule.Delay: s.Faults.Plan.Delay}[k]
			return map[string][]netRuleDoc{k.String(): netRuleDocs(rules)}, err
		},
		Print: printRules[netRuleDoc],
	}.Command(&g.json)
	c.Aliases = []string{"list"}
	return c
}

// netRuleDoc is a drop or delay rule, with the names of the flags that add such a rule.
type netRuleDoc struct {
	Source   string `json:"source"`
	Dest     string `json:"dest"`
	Local    string `json:"local_nid,omitempty"`
	Portal   string `json:"portal"`  // numbers of portals, or all
	Message  string `json:"message"` // types of messages, or all
	Rate     uint32 `json:"rate,omitempty"`
	Interval string `json:"interval,omitempty"`
	Random   bool   `json:"random,omitempty"`
	All      bool   `json:"drop_all,omitempty"`
	Error    string `json:"health_error,omitempty"`
	Latency  string `json:"latency,omitempty"`

	Statistics faultrule.Stats `json:"statistics"`
}

func netRuleDocs(rules []faultrule.State) []netRuleDoc {
	docs := make([]netRuleDoc, 0, len(rules))
	for _, r := range rules {
		d := netRuleDoc{
			Source: faultrule.FormatNID(r.Source), Dest: faultrule.FormatNID(r.Dest), Portal: r.Portals.String(), Message: r.Types.String(),
			Rate: r.Rate, Interval: seconds(r.Interval), Random: r.Random, All: r.All, Error: r.Classes.String(), Latency: seconds(r.Latency),
			Statistics: r.Stats,
		}
		if r.Local.IsValid() {
			d.Local = faultrule.FormatNID(r.Local)
		}
		docs = append(docs, d)
	}
	return docs
}

// seconds returns a time as text in seconds, as the flags accept it; "" if there is none.
func seconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	if s := d.Seconds(); s == math.Trunc(s) {
		return strconv.FormatFloat(s, 'f', 0, 64)
	}
	return d.String()
}
