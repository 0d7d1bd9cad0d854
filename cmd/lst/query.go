package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnet/selftest/console"
)

func queryCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use: "query [--test N] [--loop N] [--delay SECONDS] [--all | --active | --idle | --error] [BATCH]", Short: "Show whether a batch is running",
		Long: `Shows whether the tests of a batch, or one of them, are running at all of their clients.
With --all, --active, --idle or --error it lists the clients. --server changes nothing,
as with Lustre's tool: servers do not know whether a test is running.`,
		Example:     "  lst query b\n  lst query --test 1 --all b",
		Annotations: usageText("query [--test INDEX] [--server] [--timeout TIME] [--delay TIME] [--loop #] [--active] [--idle] [--error] [--all] [NAME]"),
	}
	q := &query{g: g}
	f := c.Flags()
	timeout := f.StringP("timeout", "o", "5", "wait so many `SECONDS` for each node, 3 to 30")
	delay := f.StringP("delay", "d", "5", "`SECONDS` between two questions")
	loop := f.StringP("loop", "c", "1", "ask `N` times")
	test := f.StringP("test", "t", "", "ask for the test with this `NUMBER` only")
	f.BoolP("server", "s", false, "changes nothing")
	f.BoolVarP(&q.active, "active", "a", false, "list the clients where it is running")
	f.BoolVarP(&q.idle, "idle", "i", false, "list the clients where it is not")
	f.BoolVarP(&q.errors, "error", "e", false, "list the clients that have refused to answer")
	f.BoolVarP(&q.all, "all", "l", false, "list all clients")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if q.batch, err = batchName(args); err != nil {
			return err
		}
		if q.test, err = testNumber(*test); err != nil {
			return err
		}
		if q.wait, err = seconds(*timeout, "timeout"); err != nil {
			return err
		}
		if q.delay, err = seconds(*delay, "delay"); err != nil {
			return err
		}
		if q.loops, err = strconv.Atoi(*loop); err != nil || q.loops < 1 {
			return failf("Invalid loop value")
		}
		return q.run(c)
	}
	return c
}

// testNumber parses the number of a test; 0: none is given.
func testNumber(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return 0, failf("Invalid test id: %s", text)
	}
	return int(n), nil
}

// query has the options of the command query, which asks the nodes whether a batch or test is running.
type query struct {
	g                         *globals
	batch                     string
	test                      int // number of a test; 0: the batch
	wait, delay               time.Duration
	loops                     int
	all, active, idle, errors bool
}

func (q *query) run(c *cobra.Command) error {
	code, n := cli.OK, 0
	err := cli.Repeat(c.Context(), q.delay, func() error {
		answers, err := q.ask(c.Context())
		if err != nil {
			return plainRefusal(err, "Failed to query batch")
		}
		if err := q.print(c.OutOrStdout(), answers); err != nil {
			return err
		}
		code = codeOf(answers)
		if n++; n == q.loops {
			return cli.ErrEnough
		}
		return nil
	})
	return cmp.Or(err, silent(code))
}

func (q *query) ask(ctx context.Context) ([]console.Answer, error) {
	return selftest.OpQuery.Call(ctx, q.g.client(), selftest.BatchRequest{Key: q.g.key(), Batch: q.batch, Test: q.test, Timeout: q.wait})
}

func (q *query) print(w io.Writer, answers []console.Answer) error {
	switch {
	case q.g.json:
		return cli.JSON(w, newQueryDoc(q, answers))
	case q.all || q.active || q.idle || q.errors:
		return q.printNodes(w, answers)
	}
	_, err := fmt.Fprintf(w, "%s [%d] %s\n", q.batch, q.test, tally(answers).String())
	return err
}

// shows reports whether the options choose a node.
func (q *query) shows(a *console.Answer) bool {
	running := a.Active > 0
	return q.all || q.active && running || q.idle && !running && a.OK() || q.errors && a.Status != 0
}

// printNodes prints a line for each client that the options choose.
func (q *query) printNodes(w io.Writer, answers []console.Answer) error {
	for i := range answers {
		a := &answers[i]
		if !q.shows(a) {
			continue
		}
		if _, err := fmt.Fprintf(w, "%v [%s]: %s\n", a.ID, stateText(a.State), activity(a)); err != nil {
			return err
		}
	}
	return nil
}

// activity returns the word of Lustre's tool for what a node does.
func activity(a *console.Answer) string {
	switch {
	case a.Failed != 0:
		return "Timeout"
	case a.Active > 0:
		return "Running"
	}
	return "Idle"
}

// counted has the numbers of nodes by what they answered: those that have stopped the tests, and so on.
type counted struct {
	Stopped int `json:"stopped"`
	Running int `json:"running"`
	Refused int `json:"failed"`  // number of nodes that have refused to answer
	Unknown int `json:"unknown"` // number of nodes without an answer
}

func tally(answers []console.Answer) (n counted) {
	for i := range answers {
		switch a := &answers[i]; {
		case a.Failed != 0:
			n.Unknown++
		case a.Status != 0:
			n.Refused++
		case a.Active > 0:
			n.Running++
		default:
			n.Stopped++
		}
	}
	return n
}

// String returns the words of Lustre's tool.
func (n counted) String() string {
	switch sound := n.Unknown+n.Refused == 0; {
	case sound && n.Running == 0:
		return "is stopped"
	case sound && n.Stopped == 0:
		return "is running"
	}
	text := fmt.Sprintf("stopped: %d , running: %d, failed: %d", n.Stopped, n.Running, n.Refused)
	if n.Unknown > 0 {
		text = fmt.Sprintf("%d of %d nodes are unknown, ", n.Unknown, n.Stopped+n.Running+n.Refused+n.Unknown) + text
	}
	return text
}

// queryDoc is the output of query in JSON.
type queryDoc struct {
	Batch string `json:"batch"`
	Test  int    `json:"test"`
	counted
	Nodes []activeDoc `json:"nodes"`
}

// activeDoc is the answer of a node: how many tests or units it runs.
type activeDoc struct {
	answerDoc
	Active uint32 `json:"active"` // tests of the batch, or units of the test, that are running
}

func newQueryDoc(q *query, answers []console.Answer) queryDoc {
	d := queryDoc{q.batch, q.test, tally(answers), []activeDoc{}}
	any := q.all || q.active || q.idle || q.errors
	for i := range answers {
		if a := &answers[i]; !any || q.shows(a) {
			d.Nodes = append(d.Nodes, activeDoc{newAnswerDoc(a), a.Active})
		}
	}
	return d
}
