package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/selftest/console"
)

func showError(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use: "show_error [--session] {GROUP | NIDS}...", Short: "Show the test nodes with errors",
		Long: `Shows the test nodes on which RPCs have failed: of tests in the session, and since the
start of the node of RPCs in general. With --session only the errors of the session
count.`,
		Example:     "  lst show_error clients servers",
		Annotations: usageText("show_error NAME | IDs ..."),
	}
	session := c.Flags().BoolP("session", "s", false, "show the errors of the session only")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errMissing
		}
		code := cli.OK
		doc := errorsDoc{Targets: []errorTargetDoc{}}
		for _, arg := range args {
			t, err := newStatTarget(arg)
			if err != nil {
				return err
			}
			answers, err := g.counters(c.Context(), t.to, errorTimeout)
			if err != nil {
				return g.unreadable(c.Context(), noObject, refusal(err, arg, "Failed to show errors of "+arg))
			}
			code = max(code, codeOf(answers))
			bad := badNodes(answers, *session)
			if g.json {
				doc.Targets = append(doc.Targets, errorTargetDoc{arg, bad})
			} else {
				printErrors(c, arg, bad, *session)
			}
		}
		var err error
		if g.json {
			err = cli.JSON(c.OutOrStdout(), doc)
		}
		return cmp.Or(err, silent(code))
	}
	return c
}

// errorTimeout bounds the wait for the counters of a node.
const errorTimeout = 10 * time.Second

// errorsDoc is the output of show_error in JSON.
type errorsDoc struct {
	Targets []errorTargetDoc `json:"targets"`
}

// errorTargetDoc is an argument of show_error, and those of its nodes that have errors.
type errorTargetDoc struct {
	Target string    `json:"target"`
	Nodes  []badNode `json:"nodes"`
}

// badNode is a node with errors, or one whose counters are not known.
type badNode struct {
	Node       string `json:"node"`
	Error      string `json:"error,omitempty"`       // why the counters are not known
	BRWErrors  uint32 `json:"brw_errors,omitempty"`  // number of failed brw RPCs of the session
	PingErrors uint32 `json:"ping_errors,omitempty"` // number of failed ping RPCs of the session
	RPCErrors  uint32 `json:"rpc_errors,omitempty"`
	RPCDropped uint32 `json:"rpc_dropped,omitempty"`
	RPCExpired uint32 `json:"rpc_expired,omitempty"`
	reason     string // why the counters are not known, in the words of Lustre's tool
}

// badNodes returns the nodes with errors. If session is set, only errors of the session count.
func badNodes(answers []console.Answer, session bool) []badNode {
	list := []badNode{}
	for i := range answers {
		a := &answers[i]
		b := badNode{Node: a.ID.String(), Error: newAnswerDoc(a).Error}
		switch {
		case a.Failed != 0:
			b.reason = "RPC failure"
		case a.Status != 0 || a.Stat == nil:
			b.reason = "Framework failure"
		default:
			f, r := &a.Stat.Framework, &a.Stat.RPC
			b.BRWErrors, b.PingErrors = f.BRWErrors, f.PingErrors
			if !session {
				b.RPCErrors, b.RPCDropped, b.RPCExpired = r.Errors, r.Dropped, r.Expired
			}
			if b == (badNode{Node: b.Node}) {
				continue
			}
		}
		list = append(list, b)
	}
	return list
}

// printErrors prints the nodes with errors: their number to standard output, the nodes to
// standard error.
func printErrors(c *cobra.Command, target string, bad []badNode, session bool) {
	fmt.Fprintf(c.OutOrStdout(), "%s:\n", target)
	for i := range bad {
		fmt.Fprintln(c.ErrOrStderr(), bad[i].line(session))
	}
	fmt.Fprintf(c.OutOrStdout(), "Total %d error nodes in %s\n", len(bad), target)
}

func (b *badNode) line(session bool) string {
	if b.reason != "" {
		return fmt.Sprintf("%s, can't show error on %s", b.reason, b.Node)
	}
	text := fmt.Sprintf("%s: [Session %d brw errors, %d ping errors]", b.Node, b.BRWErrors, b.PingErrors)
	if !session {
		text += fmt.Sprintf(" [RPC: %d errors, %d dropped, %d expired]", b.RPCErrors, b.RPCDropped, b.RPCExpired)
	}
	return text
}
