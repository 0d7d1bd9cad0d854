package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console"
)

func addGroup(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "add_group GROUP NIDS...", Short: "Make a group of test nodes",
		Long: `Makes a group and adds test nodes to it, which join the session. Each argument is a
NID, in which brackets have numbers and ranges: 10.0.[0-1].[2-20/2,30]@tcp. Selftest
has no form for NIDs with IPv6 addresses. A group to which no node could be added is
deleted.`,
		Example:     "  lst add_group servers 10.0.0.[2-9]@tcp 10.0.0.20@tcp",
		Annotations: usageText("group NAME IDs [IDs]..."),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errMissing
			}
			a := &adder{g: g, c: c, name: args[0], doc: groupChangeDoc{Group: args[0], Nodes: []answerDoc{}}}
			return a.run(args[1:])
		},
	}
}

// groupChangeDoc is what add_group or del_group has done, in JSON.
type groupChangeDoc struct {
	Group   string      `json:"group"`
	Nodes   []answerDoc `json:"nodes"`             // nodes that were asked to join or to leave
	Ignored []string    `json:"ignored,omitempty"` // arguments that name no nodes
	Deleted bool        `json:"deleted"`           // the group was deleted; by add_group: because no node could be added
}

// adder makes a group of nodes.
type adder struct {
	g    *globals
	c    *cobra.Command
	name string
	doc  groupChangeDoc
	made bool // this command has made the group; false: it is not known whether it has
	code int  // exit code for the last argument with nodes
}

func (a *adder) run(expressions []string) error {
	_, err := a.ask(selftest.OpAddGroup.Call, nil)
	if err != nil && a.c.Context().Err() == nil {
		return refusal(err, "group", "Failed to add group "+a.name)
	}
	if err != nil {
		return cmp.Or(a.deleteEmpty(), err) // the interrupted request may have made the group, which must not stay
	}
	a.made = true
	for _, e := range expressions {
		if err = a.add(e); err != nil {
			break
		}
	}
	err = cmp.Or(err, a.deleteEmpty())
	if a.g.json {
		err = cmp.Or(err, cli.JSON(a.c.OutOrStdout(), a.doc))
	}
	return cmp.Or(err, silent(a.code))
}

// add adds the nodes of an argument.
func (a *adder) add(expression string) error {
	ids, err := expand(expression)
	if f, ok := errors.AsType[*failure](err); ok {
		a.doc.Ignored = append(a.doc.Ignored, expression)
		_, err = fmt.Fprintf(a.c.ErrOrStderr(), "%s\nIgnore invalid id list %s\n", f.text, expression)
		return err
	}
	var all []console.Answer
	for part := range slices.Chunk(ids, perRequest) {
		answers, err := a.ask(selftest.OpAddNodes.Call, part)
		if err != nil {
			return refusal(err, "group", "Failed to add nodes "+expression)
		}
		all = append(all, answers...)
	}
	a.doc.Nodes = append(a.doc.Nodes, newAnswersDoc(all).Nodes...)
	a.code = codeOf(all)
	if a.code == cli.OK && !a.g.json {
		_, err = fmt.Fprintf(a.c.OutOrStdout(), "%s are added to session\n", expression)
		return err
	}
	return printFailures(a.c.ErrOrStderr(), all, "create session")
}

// groupOp is a call of an operation on a group.
type groupOp func(context.Context, *control.Client, selftest.GroupRequest) ([]console.Answer, error)

func (a *adder) ask(op groupOp, ids []nid.ProcessID) ([]console.Answer, error) {
	return op(a.c.Context(), a.g.client(), selftest.GroupRequest{Key: a.g.key(), Name: a.name, Nodes: ids})
}

// deleteLimit bounds the time in which add_group deletes an empty group, also after an interrupt.
const deleteLimit = 10 * time.Second

// deletePause is the time between two attempts to delete a group that another command still uses.
const deletePause = 20 * time.Millisecond

// deleteEmpty deletes the group if none of its nodes is in the session. After an interrupt there may be
// no group, which is no error. Or there may be a group that was made before this command: one with nodes
// stays, as the interrupted request can only have made one without nodes. The console's interrupted command
// may still use the group, and then deleteEmpty tries again.
func (a *adder) deleteEmpty() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.c.Context()), deleteLimit)
	defer cancel()
	interrupted := a.c.Context().Err() != nil
	group, err := selftest.OpGroup.Call(ctx, a.g.client(), selftest.Named{Name: a.name})
	switch {
	case interrupted && errors.Is(err, syscall.ENOENT):
		return nil
	case err != nil:
		return refusal(err, "group", "Failed to add group "+a.name)
	case group.Counts.Active > 0, !a.made && group.Counts.Total > 0:
		return nil
	}
	if _, err := fmt.Fprintf(a.c.ErrOrStderr(), "No nodes added successfully, deleting group %s\n", a.name); err != nil {
		return err
	}
	a.doc.Deleted = true
	for {
		_, err = a.g.deleteGroup(ctx, a.c, a.name)
		if !interrupted || !errors.Is(err, syscall.EBUSY) || !pause(ctx, deletePause) {
			return err
		}
	}
}

// pause waits for the time d, and returns true. If ctx ends first, it returns false.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func delGroup(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "del_group GROUP", Short: "Delete a group",
		Long:        "Deletes a group. Nodes that are in no other group leave the session. A group that is\nin use by a test stays.",
		Example:     "  lst del_group servers",
		Annotations: usageText("del_group NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errMissing
			}
			answers, err := g.deleteGroup(c.Context(), c, args[0])
			if err == nil && g.json {
				err = cli.JSON(c.OutOrStdout(), groupChangeDoc{Group: args[0], Nodes: newAnswersDoc(answers).Nodes, Deleted: true})
			}
			return err
		},
	}
}

// deleteGroup deletes a group, says so unless the output is JSON, and warns of nodes that stay in
// the session. It returns the answers of the nodes that were asked to leave the session.
func (g *globals) deleteGroup(ctx context.Context, c *cobra.Command, name string) ([]console.Answer, error) {
	answers, err := selftest.OpDeleteGroup.Call(ctx, g.client(), selftest.GroupRequest{Key: g.key(), Name: name})
	if err != nil {
		return nil, refusal(err, "group", "Failed to delete group")
	}
	if !g.json {
		_, err = fmt.Fprintln(c.OutOrStdout(), "Group is deleted")
	}
	return answers, cmp.Or(err, printWarnings(c.ErrOrStderr(), answers, "end session"))
}
