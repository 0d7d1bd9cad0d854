package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnet/selftest/console"
)

func updateGroup(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use: "update_group GROUP {--refresh | --clean STATE | --remove NIDS}", Short: "Change a group",
		Long: `Changes a group: --refresh asks nodes that are not active to join the session again,
--clean removes nodes in a state (active, busy, down, unknown, or invalid, which is all
but active), and --remove removes nodes by their NIDs.`,
		Example:     "  lst update_group servers --clean down\n  lst update_group servers --remove 10.0.0.[8-9]@tcp",
		Annotations: usageText("update_group NAME [--clean] [--refresh] [--remove IDs]"),
	}
	refresh := c.Flags().BoolP("refresh", "f", false, "ask nodes to join the session again")
	clean := c.Flags().StringP("clean", "c", "", "remove the nodes in a `STATE`")
	remove := c.Flags().StringArrayP("remove", "r", nil, "remove nodes, as `NIDS`; may be repeated")
	c.RunE = func(c *cobra.Command, args []string) error {
		one := 0
		for _, flag := range []string{"refresh", "clean", "remove"} {
			if c.Flags().Changed(flag) {
				one++
			}
		}
		if one != 1 || len(args) != 1 {
			return errMissing
		}
		var answers []console.Answer
		var err error
		switch {
		case *refresh:
			answers, err = selftest.OpRefreshGroup.Call(c.Context(), g.client(), selftest.GroupRequest{Key: g.key(), Name: args[0]})
		case *clean != "":
			answers, err = g.cleanGroup(c.Context(), args[0], *clean)
		default:
			answers, err = g.removeNodes(c.Context(), args[0], *remove)
		}
		if err != nil {
			return cmp.Or(printFailures(c.ErrOrStderr(), answers, "update"), refusal(err, "group", "Failed to update group"))
		}
		return g.report(c, answers, "update", "")
	}
	return c
}

// removeNodes removes the nodes that expressions name from a group. Many nodes take several requests. If a
// later request finds no group, an earlier one has removed its last node, and the console has deleted it: that is no error. If a request
// fails, removeNodes also returns the answers to those before it.
func (g *globals) removeNodes(ctx context.Context, name string, expressions []string) (all []console.Answer, err error) {
	ids, err := expandAll(expressions)
	if err != nil {
		return nil, err
	}
	removed := false
	for part := range slices.Chunk(ids, perRequest) {
		answers, err := selftest.OpRemoveNodes.Call(ctx, g.client(), selftest.GroupRequest{Key: g.key(), Name: name, Nodes: part})
		if errors.Is(err, syscall.ENOENT) && removed {
			break
		}
		if err != nil {
			return all, err
		}
		all, removed = append(all, answers...), true
	}
	return all, nil
}

// cleanGroup removes the nodes in a state from a group.
func (g *globals) cleanGroup(ctx context.Context, name, state string) ([]console.Answer, error) {
	states, ok := statesOf(state)
	if !ok {
		return nil, errMissing
	}
	return selftest.OpCleanGroup.Call(ctx, g.client(), selftest.CleanRequest{Key: g.key(), Name: name, States: states})
}
