package main

import (
	"fmt"
	"io"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// codeOf returns the exit code for the answers of nodes: a node without an answer counts more
// than one that has refused what it was asked to do.
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

// printFailures prints a line for each node that did not do what it was asked to do (Lustre's
// lst_print_transerr).
func printFailures(stderr io.Writer, answers []console.Answer, what string) error {
	return printLines(stderr, "", answers, what)
}

// printWarnings is printFailures for commands that do their work without these nodes. Lustre's
// tool does not name them.
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

// failureLine returns why a node did not do what it was asked to do, or "". Lustre's tool gets a
// negative errno for a node without an answer, for which the C library has no text. A terminal
// gets the text as well.
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

// answersDoc is a command that asks nodes, in JSON.
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
