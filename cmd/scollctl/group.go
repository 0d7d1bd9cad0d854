package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/scoll"
)

func groupCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "group",
		Short: "Show, create and destroy groups",
		Long: `Groups are servers that are asked together. Lnetd's configuration names groups, and
all are the participants of gossip unless it has another group of that name.`,
	}
	c.AddCommand(groupListCommand(g), groupCreateCommand(g), groupDestroyCommand(g))
	return c
}

func groupListCommand(g *globals) *cobra.Command {
	return cli.Question[groupsDoc]{
		Use: "list", Short: "List the groups",
		Long: `Lists the groups that have names here, and those of others that this node is a
member of at present.`,
		Example: "  scollctl group list",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) (groupsDoc, error) {
			s, err := scoll.OpStatus.Call(ctx, g.client(), control.None{})
			return groupsDoc{s.Groups, s.Joined, s}, err
		},
		Print: func(w io.Writer, d groupsDoc) error { return printGroups(w, &d.of) },
	}.Command(&g.json)
}

type groupsDoc struct {
	Groups []scoll.GroupStatus `json:"groups"`
	Joined []scoll.JoinedGroup `json:"joined"`
	of     scoll.Status
}

func printGroups(w io.Writer, s *scoll.Status) error {
	var t cli.Table
	t.Row("NAME", "MEMBERS", "ALIVE", "TREE", "FROM")
	for _, group := range s.Groups {
		alive := fmt.Sprint(group.Alive)
		if !s.Gossip {
			alive = "-" // the number of live members is not known
		}
		t.Row(group.Name, group.Members, alive, group.Tree, group.Origin)
	}
	err := t.Print(w)
	var joined cli.Table
	joined.Row("\nROOT", "MEMBERS", "RUNNING", "TREE", "ID")
	others := 0
	for _, j := range s.Joined {
		if j.Root != s.NID {
			others++
			joined.Row(j.Root, j.Members, j.InFlight, j.Tree, j.ID)
		}
	}
	if others == 0 {
		return err
	}
	return joined.Print(w)
}

func groupCreateCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "create NAME NIDS...",
		Short: "Give servers a name",
		Long: `Names servers as a group, at this node and until its lnetd ends. NIDS are NIDs or
expressions for ranges of them, such as 10.0.0.[1-20]@tcp, quoted because of the
shell. This node need not be one of them.`,
		Example: "  scollctl group create half '10.0.0.[1-10]@tcp' --tree 'k-nomial 4'",
		Args:    cobra.ArbitraryArgs,
	}
	tree := c.Flags().String("tree", "", "`TREE`: binomial, flat, 'k-nomial K' or 'k-ary K'; default as in the section admin")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) < 2 {
			return cli.Usagef("%s needs a name and NIDS", c.CommandPath())
		}
		if err := config.CheckName(args[0]); err != nil {
			return cli.Usagef("%w", err)
		}
		if *tree != "" {
			if _, err := config.ParseTree(*tree); err != nil {
				return cli.Usagef("--tree: %w", err)
			}
		}
		text := strings.Join(args[1:], "\n")
		if _, err := config.ParseNIDList(text); err != nil {
			return cli.Usagef("NIDS: %w", err)
		}
		return scoll.OpGroupCreate.CallWith(c.Context(), g.client(), scoll.GroupCreate{Name: args[0], Tree: *tree}, bytes.NewReader([]byte(text)))
	}
	return c
}

func groupDestroyCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "destroy NAME",
		Short: "Have all members forget a group",
		Long: `Has all members forget a group. A name that a command gave is gone then; one of the
configuration, or all, can be used again at once.`,
		Example: "  scollctl group destroy half",
		Args:    cli.Args("a name"),
		RunE: func(c *cobra.Command, args []string) error {
			return scoll.OpGroupDestroy.Call(c.Context(), g.client(), scoll.GroupName{Name: args[0]})
		},
	}
}
