// Command soak makes LNet nodes exchange messages for a long time over links and hosts that
// fail, and accounts for every operation.
//
// Each worker is a process in a network namespace, with a whole node (portals, lnet, and the driver
// of TCP or of RDMA in software) and a link to a common switch, or one to the switch of each of its
// rails. With routers there are two nets, and every other worker is on the second one; routers have
// faults as workers have, and start no operations. Workers PUT, with and without ACK, and GET,
// between 0 and 1 MiB. PUTs go to three kinds of memory: slots in which the sender chooses the
// offset, buffers for one message each on a lazy portal, and rings for many small messages. The
// content of each message is a function of its operation, and is checked. Meanwhile links and
// workers have faults, by a plan that follows from the seed. Links lose, delay, reorder, duplicate
// and corrupt packets, slow down, go down, change their MTU and answer TCP with RST. Workers are
// stopped and killed.
//
// Every worker writes a journal that survives the worker's death. The ledger (see ledger.go)
// compares all journals: no acknowledged message may be lost, none may be delivered twice
// except those that LNet sends again over several paths, every operation must have its events,
// and in the end no message, credit or memory descriptor may be left. A violation ends the run
// with exit status 1, the evidence, and a command that runs the same plan again; the machine's
// timing is not part of the plan. The evidence is the logs of all workers, the journals with
// times, and the states of all nodes while operations took long.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
)

func main() { os.Exit(run(context.Background(), cli.OS(), os.Args[1:])) }

func run(ctx context.Context, env cli.Env, args []string) int {
	return cli.Run(ctx, env, root(env), args)
}

// maxHosts bounds the number of hosts, because of the numbers in addresses, the numbers of
// workers, and the memory.
const maxHosts = 16

// maxRails bounds the number of rails, because of the load of emulated links.
const maxRails = 4

func root(env cli.Env) *cobra.Command {
	var (
		cfg           soakConfig
		net           string
		faults, level string
		asJSON        bool
	)
	c := &cobra.Command{
		Use:     "soak",
		Short:   "Exchange messages over failing links and hosts, and account for every one",
		Example: "  soak --time 2m --faults kill,loss",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := cfg.complete(net, faults, level); err != nil {
				return err
			}
			r, err := runSoak(c.Context(), cfg, env.Stderr)
			if err != nil {
				return err
			}
			return cli.Show(c.OutOrStdout(), asJSON, r, printReport)
		},
	}
	f := c.Flags()
	f.DurationVar(&cfg.length, "time", 10*time.Minute, "how long")
	f.Uint64Var(&cfg.seed, "seed", 0, "of everything random; 0 takes a new one")
	f.StringVar(&net, "net", "tcp", "network to run on: tcp, o2ib for RDMA in software, or mixed for one on each side of routers")
	f.IntVar(&cfg.hosts, "hosts", 4, "number of workers")
	f.IntVar(&cfg.rails, "rails", 1, "links of each host on each of its nets")
	f.IntVar(&cfg.routers, "routers", 0, "routers between two nets, on which every other worker is; 0: one net")
	f.IntVar(&cfg.rate, "rate", 200, "operations per second that a worker starts at most")
	f.StringVar(&faults, "faults", "all", "all, none, or a list of: "+faultNames())
	f.BoolVar(&cfg.ipv6, "ipv6", false, "use IPv6, and so version 4 of the protocol of TCP")
	f.StringVar(&level, "log-level", "info", "of the workers' logs: debug, info, warn, error")
	f.BoolVar(&cfg.keep, "keep", false, "keep the logs of a run without violation, too")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	c.AddCommand(workerCommand(env))
	return c
}

// complete checks the flags, and sets the command that repeats the run.
func (cfg *soakConfig) complete(net, faults, level string) (err error) {
	if cfg.net, err = parseNetwork(net); err != nil {
		return cli.Usagef("--net: %w", err)
	}
	if cfg.faults, err = cfg.net.parseFaults(faults); err != nil {
		return cli.Usagef("--faults: %w", err)
	}
	if cfg.log, err = config.ParseLevel(level); err != nil {
		return cli.Usagef("--log-level: %w", err)
	}
	switch {
	case cfg.hosts < 2 || cfg.hosts > maxHosts:
		return cli.Usagef("--hosts %d: from 2 to %d", cfg.hosts, maxHosts)
	case cfg.rails < 1 || cfg.rails > maxRails:
		return cli.Usagef("--rails %d: from 1 to %d", cfg.rails, maxRails)
	case cfg.routers < 0 || cfg.routers > maxHosts:
		return cli.Usagef("--routers %d: from 0 to %d", cfg.routers, maxHosts)
	case cfg.net == mixed && cfg.routers == 0:
		return cli.Usagef("--net mixed: takes --routers 1 or more, between the two nets")
	case cfg.rate < 1 || cfg.rate > 100_000:
		return cli.Usagef("--rate %d: from 1 to 100000", cfg.rate)
	case cfg.length <= 0:
		return cli.Usagef("--time %v: too short", cfg.length)
	case cfg.ipv6 && cfg.net != tcp:
		return cli.Usagef("--ipv6: networks of type o2ib have IPv4 addresses only")
	}
	cfg.seed = cmp.Or(cfg.seed, newSeed())
	cfg.command = fmt.Sprintf("bin/soak --time %v --seed %d --hosts %d --rails %d --routers %d --rate %d --faults '%s' --net %s --ipv6=%v",
		cfg.length, cfg.seed, cfg.hosts, cfg.rails, cfg.routers, cfg.rate, faults, cfg.net, cfg.ipv6)
	return nil
}

func newSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // cannot fail: Read of crypto/rand never returns an error
	return binary.LittleEndian.Uint64(b[:])
}
