package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnet/selftest/console"
)

func statCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use: "stat [--rate | --bw] [--read | --write] [--avg] [--min] [--max] [--mbs] [--delay SECONDS] [--count N] [--live] {GROUP | NIDS}...", Short: "Show the traffic of test nodes",
		Long: `Shows, every 5 seconds until an interrupt, how many messages and bytes LNet of the
test nodes of a group has received (R) and sent (W) per second: the average, least and
greatest of the nodes. --read shows what the nodes send, because they serve what is
read, and --write what they receive. --live shows each node on a terminal, with the
course of its rates. --json prints an object for each report, with each node.`,
		Example: "  lst stat servers\n  lst stat --count 1 --delay 1 --bw clients servers\n  lst stat --live servers",
		Annotations: usageText("stat [--bw] [--rate] [--read] [--write] [--max] [--min]  [--avg] [--mbs] [--timeout #] " +
			"[--delay #] [--count #] GROUP [GROUP]"),
	}
	s := &stat{g: g}
	timeout := c.Flags().StringP("timeout", "t", "5", "wait so many `SECONDS` for each node, 3 to 30")
	delay := c.Flags().StringP("delay", "d", "5", "`SECONDS` between two reports")
	count := c.Flags().String("count", "", "end after `N` reports")
	s.view.flags(c)
	c.Flags().BoolVar(&s.live, "live", false, "show each node with the course of its rates, on a terminal")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if len(args) == 0 {
			return errMissing
		}
		if s.wait, err = seconds(*timeout, "timeout"); err != nil {
			return err
		}
		if s.delay, err = seconds(*delay, "delay"); err != nil {
			return err
		}
		if *count != "" {
			if s.count, err = strconv.Atoi(*count); err != nil || s.count < 1 {
				return failf("Invalid count value")
			}
		}
		for _, arg := range args {
			t, err := newStatTarget(arg)
			if err != nil {
				return err
			}
			s.targets = append(s.targets, t)
		}
		return s.run(c)
	}
	return c
}

// stat reports the traffic of nodes.
type stat struct {
	g           *globals
	view        statView
	wait, delay time.Duration
	count       int // number of reports; 0: until an interrupt
	live        bool
	targets     []*statTarget
}

// statTarget is an argument of the command stat, with the latest counters and rates of its nodes.
type statTarget struct {
	name   string // the argument as given
	to     console.Target
	before []console.Answer // latest answers of the nodes, with their counters
	at     time.Time        // when the latest answers came
	rates  console.Traffic  // rates of all nodes together
	nodes  []nodeRates      // rates of each node, for JSON and the live table
	failed int              // number of nodes without an answer
	course course           // the latest rates of each node, for the live table
	code   int              // exit code for the latest answers
}

// newStatTarget returns the target that an argument names: a group, or nodes if there is an @.
func newStatTarget(arg string) (*statTarget, error) {
	t := &statTarget{name: arg, to: console.Target{Group: arg}}
	if strings.Contains(arg, "@") {
		ids, err := expand(arg)
		if err != nil {
			return nil, err
		}
		t.to = console.Target{Nodes: ids}
	}
	return t, nil
}

func (s *stat) run(c *cobra.Command) error {
	out := c.OutOrStdout()
	show := cli.Style(out, s.g.json, s.lines, s.objects, s.screen)
	if !s.live && !s.g.json {
		show = s.lines
	}
	n := 0
	err := cli.Repeat(c.Context(), s.delay, func() error {
		for _, t := range s.targets {
			if err := s.look(c.Context(), t); err != nil {
				return err
			}
		}
		if n++; n == 1 {
			return nil // rates need two samples, so the first one is not shown
		}
		if err := show(out, n == 2); err != nil {
			return err
		}
		if n > s.count && s.count > 0 {
			return cli.ErrEnough
		}
		return nil
	})
	code := cli.OK
	for _, t := range s.targets {
		code = max(code, t.code)
	}
	return cmp.Or(err, silent(code))
}

// look asks the nodes of a target for their counters.
func (s *stat) look(ctx context.Context, t *statTarget) error {
	answers, err := s.g.counters(ctx, t.to, s.wait)
	if err != nil {
		return s.g.unreadable(ctx, noObject, refusal(err, "stat", "Failed to query stat"))
	}
	t.take(answers, time.Now())
	return nil
}

// take computes the rates from the previous answers of the nodes and the given ones. The parameter
// at is when the given ones arrived.
func (t *statTarget) take(answers []console.Answer, at time.Time) {
	t.rates, t.nodes, t.failed = console.Rates(t.before, answers, at.Sub(t.at)), ratesOf(t.before, answers, at.Sub(t.at)), 0
	for i := range answers {
		if !answers[i].OK() {
			t.failed++
		}
	}
	t.course.add(t.nodes)
	t.before, t.at, t.code = answers, at, codeOf(answers)
}

// counters asks nodes for their counters.
func (g *globals) counters(ctx context.Context, to console.Target, wait time.Duration) (all []console.Answer, err error) {
	for _, part := range parts(to) {
		answers, err := selftest.OpStat.Call(ctx, g.client(), selftest.AskRequest{Key: g.key(), Target: part, Timeout: wait})
		if err != nil {
			return nil, err
		}
		all = append(all, answers...)
	}
	return all, nil
}

// unreadable puts error lines of Lustre's tool before the error that a group does not exist, if
// there is no group at all.
func (g *globals) unreadable(ctx context.Context, lines string, err error) error {
	if (errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ESRCH)) && g.hasNoGroup(ctx) {
		return after(lines, err)
	}
	return err
}

// lines prints a report as Lustre's tool does.
func (s *stat) lines(w io.Writer, _ bool) error {
	for _, t := range s.targets {
		if t.failed > 0 {
			if _, err := fmt.Fprintf(w, "Failed to stat on %d nodes\n", t.failed); err != nil {
				return err // so that the reports end
			}
		}
		if t.rates.Nodes == 0 {
			continue
		}
		if err := s.view.print(w, t.name, &t.rates); err != nil {
			return err
		}
	}
	return nil
}
