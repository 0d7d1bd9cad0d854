// Peers compares gossip and zones with hashicorp/memberlist (SWIM with Lifeguard)
// on one machine: the same number of nodes, the same interval, the same faults, one
// after the other and never together. Each node is a process of its own with
// real sockets, so that SIGSTOP stops it as it would a server's.
//
// With leases as its first argument it compares client health with leases of
// go.etcd.io/etcd, embedded: the same number of servers and clients, the same
// interval and time to live.
//
// It is a Go module of its own: memberlist and etcd never enter that of ulnet.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// systems are what is compared, in the order in which they run.
var systems = []string{"gossip", "memberlist", "zone", "memberlist-lan"}

// options are the command line.
type options struct {
	nodes    int
	interval time.Duration
	rounds   int
	calm     time.Duration // after the start
	measure  time.Duration // of traffic and CPU
	paused   int           // how many are stopped and continued
	pauses   int           // how often
	systems  []string
	json     bool
	asNode   string // this process is a node; the value names its system
	index    int
	port     uint16
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 0 && args[0] == "leases" {
		return leases(args[1:])
	}
	var o options
	f := pflag.NewFlagSet("peers", pflag.ContinueOnError)
	f.IntVar(&o.nodes, "nodes", 32, "how many `NODES`, each a process")
	f.DurationVar(&o.interval, "interval", 200*time.Millisecond, "gossip `INTERVAL` and probe interval; zone and memberlist-lan have their defaults, 1s")
	f.IntVar(&o.rounds, "rounds", 1, "how often all is done")
	f.DurationVar(&o.calm, "calm", 8*time.Second, "how long after the start that begins; gossip has a cycle for each node at least")
	f.DurationVar(&o.measure, "measure", 8*time.Second, "how long traffic and CPU are measured")
	f.IntVar(&o.paused, "paused", 4, "how many nodes are stopped and continued")
	f.IntVar(&o.pauses, "pauses", 3, "how often, for 8 s each time")
	f.StringSliceVar(&o.systems, "systems", systems, "which `SYSTEMS` take part")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.StringVar(&o.asNode, "as-node", "", "be a node (internal)")
	f.IntVar(&o.index, "index", 0, "of the node (internal)")
	f.Uint16Var(&o.port, "port", 0, "of all nodes (internal)")
	for _, internal := range []string{"as-node", "index", "port"} {
		_ = f.MarkHidden(internal) // they exist
	}
	if err := f.Parse(args); err != nil {
		if err == pflag.ErrHelp {
			return 0
		}
		fmt.Fprintln(os.Stderr, "peers:", err)
		return 2
	}
	if o.asNode != "" {
		return o.beNode()
	}
	if err := o.check(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		return 2
	}
	if err := o.compare(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		return 1
	}
	return 0
}

// check refuses what cannot be run.
func (o *options) check() error {
	switch {
	case o.nodes < 4 || o.nodes > 128:
		return fmt.Errorf("--nodes %d: want 4 to 128, they share this machine", o.nodes)
	case o.interval < 200*time.Millisecond:
		return fmt.Errorf("--interval %v: want 200ms or more", o.interval)
	case o.paused < 0 || o.paused > o.nodes-3:
		return fmt.Errorf("--paused %d: want at most %d of %d nodes", o.paused, o.nodes-3, o.nodes)
	}
	for _, s := range o.systems {
		if !slices.Contains(systems, s) {
			return fmt.Errorf("--systems %s: want some of %s", s, strings.Join(systems, ","))
		}
	}
	return nil
}

// compare runs all systems in turn and prints what came out.
func (o *options) compare() error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	var results []result
	for round := range o.rounds {
		for _, system := range o.systems {
			fmt.Fprintf(os.Stderr, "round %d of %d: %d nodes of %s\n", round+1, o.rounds, o.nodes, system)
			r, err := o.script(system, stop)
			if err != nil {
				return fmt.Errorf("%s: %w", system, err)
			}
			r.Round = round + 1
			results = append(results, r)
		}
	}
	if o.json {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(results)
	}
	o.table(results)
	return nil
}
