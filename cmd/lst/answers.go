package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// codeOf returns the exit code for the answers of nodes. If one node has not answered and another
// has refused what it was asked to do, the code is that of the missing answer.
func codeOf(answers []console.Answer) int {
	code := cli.OK
	for i := range answers {
		switch {
		case answers[i].Failed != 0:
			return rpcError
		case answers[i].Status != 0:
			code = nodeError
		}
	}
	return code
}

// report prints the answers of nodes that were asked to do something: as JSON or, if all have done it, a line with
// the text done, unless that is empty. It names the nodes that have not done it, and returns an error then.
func (g *globals) report(c *cobra.Command, answers []console.Answer, what, done string) error {
	if g.json {
		if err := cli.JSON(c.OutOrStdout(), newAnswersDoc(answers)); err != nil {
			return err
		}
	} else if codeOf(answers) == cli.OK && done != "" {
		fmt.Fprintln(c.OutOrStdout(), done)
	}
	return cmp.Or(printFailures(c.ErrOrStderr(), answers, what), silent(codeOf(answers)))
}

// printFailures prints a line for each node that did not do what it was asked to do (Lustre's
// lst_print_transerr).
func printFailures(stderr io.Writer, answers []console.Answer, what string) error {
	return printLines(stderr, "", answers, what)
}

// printWarnings prints the lines of printFailures as warnings, for commands that succeed although
// these nodes have failed. Lustre's tool does not name such nodes.
func printWarnings(stderr io.Writer, answers []console.Answer, what string) error {
	return printLines(stderr, "warning: ", answers, what)
}

func printLines(stderr io.Writer, prefix string, answers []console.Answer, what string) error {
	terminal := cli.IsTerminal(stderr)
	for i := range answers {
		if line := failureLine(&answers[i], what, terminal); line != "" {
			if _, err := fmt.Fprintln(stderr, prefix+line); err != nil {
				return err
			}
		}
	}
	return nil
}

// failureLine returns why a node did not do what it was asked to do, or "". For a node without an
// answer, Lustre's tool has a negative errno, for which the C library only has "Unknown error". On
// a terminal, failureLine adds the text of the errno.
func failureLine(a *console.Answer, what string, terminal bool) string {
	switch {
	case a.Failed != 0 && terminal:
		return fmt.Sprintf("%s RPC failed on %v: Unknown error -%d (%s)", what, a.ID, int(a.Failed), cli.Strerror(a.Failed))
	case a.Failed != 0:
		return fmt.Sprintf("%s RPC failed on %v: Unknown error -%d", what, a.ID, int(a.Failed))
	case a.Status != 0:
		return fmt.Sprintf("operation %s failed on %v: %s", what, a.ID, cli.Strerror(a.Status))
	}
	return ""
}

// answerDoc is the answer of a node in JSON.
type answerDoc struct {
	Node    string        `json:"node"`
	State   console.State `json:"state"`
	Error   string        `json:"error,omitempty"`   // why there is no answer, or what the node has refused
	Latency float64       `json:"latency,omitempty"` // seconds until the answer
	Session string        `json:"session,omitempty"` // id of the node's session
	Name    string        `json:"name,omitempty"`    // name of the node's session
}

func newAnswerDoc(a *console.Answer) answerDoc {
	d := answerDoc{Node: a.ID.String(), State: a.State, Latency: a.Latency.Seconds(), Name: a.Name}
	if a.Session != wire.NoSession() {
		d.Session = a.Session.String()
	}
	switch {
	case a.Failed != 0:
		d.Error = "no answer: " + a.Failed.Error()
	case a.Status != 0:
		d.Error = a.Status.Error()
	}
	return d
}

// answersDoc is the JSON output of a command that asks nodes.
type answersDoc struct {
	Nodes []answerDoc `json:"nodes"`
}

func newAnswersDoc(answers []console.Answer) answersDoc {
	d := answersDoc{Nodes: []answerDoc{}}
	for i := range answers {
		d.Nodes = append(d.Nodes, newAnswerDoc(&answers[i]))
	}
	return d
}
