// Command bench measures the goals of this project and says which are met.
//
// It prints one line for each bound of a goal: its id, what was measured, the value, the goal,
// and met or missed. The values are ratios to a plain Go TCP program that moves the same payload
// in the same run: both run in the same two processes, in turns, and medians are compared. The
// lines are also written to a file, with the date and a description of the machine. BENCH=long
// in the environment runs four times as many rounds, and also takes measurements that take
// longer than some minutes.
//
// A missed goal is a result, not a failure: the exit status is 1 only when
// something could not be measured.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/bench/rival"
	"ulnet/cmd/bench/worker"
	"ulnet/cmd/internal/cli"
	"ulnet/health/boltstore"
)

// Bounds for the time that the measurement of one goal may take, by default and with BENCH=long.
const (
	goalTimeout     = 12 * time.Minute
	longGoalTimeout = 3 * time.Hour
)

func main() {
	if code, asked := boltstore.Child(os.Args[1:], os.Stdout); asked {
		os.Exit(code)
	}
	if code, asked := worker.Child(os.Args[1:], workers...); asked {
		os.Exit(code)
	}
	os.Exit(run(context.Background(), cli.OS(), os.Args[1:]))
}

// workers are the kinds of processes that this program can be started as.
var workers = []worker.Kind{
	kindOf("peer", servePeer), kindOf("idle", serveIdle), kindOf("member", serveMember),
	kindOf("caster", serveCaster), kindOf("spinner", serveSpinner),
	kindOf("rail", serveRail), kindOf("plain", servePlain), kindOf("plain client", servePlainClient), kindOf("crowd", serveCrowd),
	kindOf("hub", serveHub), kindOf("spoke", serveSpoke), kindOf("observer", serveObserver),
	memberKind("gossip", startGossip), memberKind("zone", startZone),
	rival.Server("health server", serveHealth), rival.Clients("health clients", healthClients),
}

// kindOf returns a kind of worker. The function start makes the worker ready; its errors are those of must.
func kindOf[P, R any](name string, start func(w *worker.Worker, params P) R) worker.Kind {
	return worker.Of(name, func(w *worker.Worker, params P) (R, error) {
		return returning(func(p P) R { return start(w, p) })(params)
	})
}

func run(ctx context.Context, env cli.Env, args []string) int {
	return cli.Run(ctx, env, root(env), args)
}

func root(env cli.Env) *cobra.Command {
	var (
		prefix, file string
		rounds       int
		list, pins   bool
		profiles     bool
	)
	c := &cobra.Command{
		Use:     "bench",
		Short:   "Measure the goals of this project and say which are met",
		Example: "  bench --goal G-LN-1",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if rounds < 1 {
				return cli.Usagef("--rounds %d: at least 1", rounds)
			}
			selected := choose(prefix)
			switch {
			case len(selected) == 0:
				return cli.Usagef("no goal begins with %q; --list names them", prefix)
			case list:
				return listGoals(env.Stdout, selected)
			}
			if pins {
				if err := pin(); err != nil {
					return err
				}
			}
			return measure(c.Context(), env, selected, rounds, file, profiles)
		},
	}
	c.Flags().StringVar(&prefix, "goal", "", "measure the goals whose id begins with this")
	c.Flags().StringVar(&file, "out", "docs/performance.md", "write the results to this file; empty: nowhere")
	c.Flags().IntVar(&rounds, "rounds", defaultRounds(env), "rounds of each measurement; medians are taken over them")
	c.Flags().BoolVar(&pins, "pin", false, "bind each process to a core of its own")
	c.Flags().BoolVar(&profiles, "profile", false, "print the CPU time per operation of each contender by package, of both sides")
	c.Flags().BoolVar(&list, "list", false, "list the goals and end")
	return c
}

func defaultRounds(env cli.Env) int {
	if env.Getenv("BENCH") == "long" {
		return 60
	}
	return 15
}

func choose(prefix string) []goal {
	var selected []goal
	for _, g := range goals {
		if prefix == "" || g.id == prefix || strings.HasPrefix(g.id, prefix+"-") {
			selected = append(selected, g)
		}
	}
	return selected
}

func listGoals(w io.Writer, selected []goal) error {
	for _, g := range selected {
		if _, err := fmt.Fprintf(w, "%s  %s\n", g.id, g.title); err != nil {
			return err
		}
	}
	return nil
}

// measure measures the goals, prints their lines and writes them to the file.
func measure(ctx context.Context, env cli.Env, selected []goal, rounds int, file string, profiles bool) error {
	b, err := newBench(ctx, env.Stderr, rounds)
	if err != nil {
		return err
	}
	defer b.close()
	if profiles {
		b.profile = &profiler{of: map[string]*spectrum{}}
	}
	for _, g := range selected {
		at := newSurroundings()
		lines, err := measureGoal(ctx, g, b)
		if err != nil {
			return fmt.Errorf("%s: %w", g.id, err)
		}
		out := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
		for _, l := range lines {
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", g.id, l.what, l.value(), l.bound(), l.outcome())
		}
		if err := cmp.Or(out.Flush(), b.profile.print(env.Stdout)); err != nil {
			return err
		}
		if file == "" {
			continue
		}
		if err := writeResults(file, g, lines, at, rounds); err != nil {
			return err
		}
	}
	return nil
}

func measureGoal(ctx context.Context, g goal, b *bench) ([]line, error) {
	timeout := goalTimeout
	if b.effort() == thorough {
		timeout = longGoalTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return b.measure(ctx, g.measure)
}
