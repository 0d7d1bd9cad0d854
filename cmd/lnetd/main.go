// Lnetd is an LNet node: it answers pings, sends and receives messages over TCP as kernel nodes
// do, and lets tools use the node over a control socket.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/journal"
	"ulnet/cmd/internal/statelock"
	"ulnet/health/boltstore"
)

func main() {
	if code, asked := boltstore.Child(os.Args[1:], os.Stdout); asked { // another lnetd has started this process to check its database
		os.Exit(code)
	}
	os.Exit(run(context.Background(), cli.OS(), os.Args[1:]))
}

// flushWithin bounds the wait for the last lines on standard error.
const flushWithin = time.Second

func run(ctx context.Context, env cli.Env, args []string) int {
	stderr := journal.NewStream(env.Stderr)
	defer stderr.Flush(flushWithin)
	env.Stderr = stderr
	return cli.Run(ctx, env, root(env), args)
}

// exitStatus describes the exit codes for manual pages.
const exitStatus = `0 The daemon was told to end (SIGTERM, SIGINT) and has ended in order, perhaps while it still waited for its configuration.
1 The daemon did not start, or could not go on: an interface, port or socket cannot be used. Or it did not end in 20 s, because something did not answer. Standard error says what, and what to do next.
2 The command line is not valid.
78 A file of its configuration is not valid or cannot be read, its state is of a newer version or has a version file that it may not read, or it may not use its directories, so that another start fails, too.`

func root(env cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "lnetd",
		Short: "An LNet node in userspace",
		Long: `lnetd is an LNet node: it answers pings, takes and sends messages over TCP as
kernel nodes do, and offers its node to tools on a control socket.

It runs in the foreground until SIGTERM or SIGINT, logs to standard error, and
prints one line to standard output when it is ready. LNet has no
authentication: whoever reaches the accept port is believed as the accept mode
says (see 'accept' in what 'lnetd config' prints).

Options of Lustre's modules in modprobe.d, and lnet.conf, are read as 'lnetd config
--help' says.`,
		Example: `  lnetd --networks 'tcp(eth0)'
  lnetd --networks 'tcp(127.0.0.2)' --accept-port 9880 --capture lnet.pcapng`,
		Annotations: map[string]string{cli.ExitStatus: exitStatus},
		Args:        cobra.NoArgs,
	}
	flags := config.AddFlags(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		hangups := catchHangups() // before the configuration is read, which may take long
		loaded, err := read(c.Context(), flags)
		if errors.Is(err, errUnread) {
			fmt.Fprintln(env.Stderr, "lnetd:", err)
			return nil // an end that was asked for is no failure
		}
		if err != nil {
			return err
		}
		dirs := config.Dirs{Getenv: env.Getenv, UID: os.Getuid()}
		loaded.Resolve(dirs)
		cfg := loaded.Config // a copy, because serve may still change loaded after endsWithin has returned
		return failure(endsWithin(c.Context(), endTimeout, func() error {
			return own(cfg, dirs, func(state *statelock.Lock) error {
				return serve(c.Context(), env, loaded, state, hangups, func() (*config.Loaded, error) {
					next, err := flags.Reload(os.Getuid() == 0)
					if err == nil {
						next.Resolve(dirs)
					}
					return next, err
				})
			})
		}), &cfg)
	}
	c.AddCommand(configCommand())
	return c
}

// errUnread means that the daemon was told to end before its configuration was read.
var errUnread = errors.New("told to end before the configuration was read: a pipe has no writer, or a disk does not answer")

// read reads the configuration. If ctx ends first it returns errUnread, since opening a pipe waits for its writer.
func read(ctx context.Context, flags *config.Flags) (*config.Loaded, error) {
	type result struct {
		loaded *config.Loaded
		err    error
	}
	results := make(chan result, 1)
	go func() {
		loaded, err := flags.Load(os.Getuid() == 0)
		results <- result{loaded, err}
	}()
	select {
	case r := <-results:
		return r.loaded, readError(r.err)
	case <-ctx.Done():
	}
	select {
	case r := <-results: // both were ready
		return r.loaded, readError(r.err)
	default:
		return nil, errUnread
	}
}

// readError adds to an error of the configuration what to do.
func readError(err error) error {
	if _, bad := errors.AsType[*config.Error](err); bad {
		return cli.Hint(cli.ConfigError(err), "'lnetd config' prints the reference configuration, which explains every key")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Hint(cli.ConfigError(err), "'lnetd config > FILE' writes one with every key; without --config all have their defaults")
	}
	return cli.ConfigError(err)
}

// own makes the directories of a daemon, and calls serve while the state directory and the runtime directory are locked.
func own(cfg config.Config, dirs config.Dirs, serve func(*statelock.Lock) error) error {
	if err := dirError(makeDirs(cfg, dirs)); err != nil {
		return err
	}
	state, err := statelock.Take(cfg.StateDir)
	defer state.Release()
	if err == nil {
		err = state.HoldRuntime(cfg.RuntimeDir)
	}
	if _, unopened := errors.AsType[*fs.PathError](err); unopened {
		return dirError(err)
	}
	if err != nil {
		return err
	}
	return serve(state)
}
