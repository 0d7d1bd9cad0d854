package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
)

// keepers are who is compared by leases, in the order in which they run.
var keepers = []string{"health", "etcd"}

// Bounds of what one machine can take.
const (
	maxLeaseServers  = 7
	otherDescriptors = 500 // of a process, besides connections
)

// descriptors is how many connections a process can have.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return max(0, int(min(limit.Cur, 1<<20))-otherDescriptors)
}

// clientsAProcess is how many clients a process has: each of ours is connected to
// every server.
func (o *leaseOptions) clientsAProcess() int { return max(1, min(5000, descriptors()/o.servers)) }

// leaseOptions are the command line of leases.
type leaseOptions struct {
	clients, servers int
	interval, ttl    time.Duration
	rounds           int
	measure          time.Duration
	deaths           int
	systems          []string
	json             bool

	as              string // this process is "server" or "clients" of systems[0]
	index, from, to int
	port, port2     uint16
	folder          string
	stop            <-chan os.Signal
	connectLimit    time.Duration
}

// leases compares client health with leases of etcd.
func leases(args []string) int {
	o := leaseOptions{connectLimit: 90 * time.Second}
	f := pflag.NewFlagSet("peers leases", pflag.ContinueOnError)
	f.IntVar(&o.clients, "clients", 10_000, "how many `CLIENTS`")
	f.IntVar(&o.servers, "servers", 3, "how many `SERVERS`, each a process")
	f.DurationVar(&o.interval, "interval", 2*time.Second, "a client is heard of once in this `INTERVAL`")
	f.DurationVar(&o.ttl, "ttl", 7*time.Second, "after how long without it is given up; whole seconds")
	f.IntVar(&o.rounds, "rounds", 1, "how often all is done")
	f.DurationVar(&o.measure, "measure", 10*time.Second, "how long traffic and CPU are measured")
	f.IntVar(&o.deaths, "deaths", 100, "how many clients die first; then half of the others")
	f.StringSliceVar(&o.systems, "systems", keepers, "which `SYSTEMS` take part")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.StringVar(&o.as, "as", "", "")
	f.IntVar(&o.index, "index", 0, "")
	f.IntVar(&o.from, "from", 0, "")
	f.IntVar(&o.to, "to", 0, "")
	f.Uint16Var(&o.port, "port", 0, "")
	f.Uint16Var(&o.port2, "port2", 0, "")
	f.StringVar(&o.folder, "folder", "", "")
	for _, internal := range []string{"as", "index", "from", "to", "port", "port2", "folder"} {
		_ = f.MarkHidden(internal) // they exist
	}
	err := f.Parse(args)
	if err == pflag.ErrHelp {
		return 0
	}
	if err == nil {
		err = o.check()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers leases:", err)
		return 2
	}
	if o.as != "" {
		err = o.beChild()
	} else {
		err = o.compare()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers leases:", err)
		return 1
	}
	return 0
}

// check refuses what cannot be run.
func (o *leaseOptions) check() error {
	switch {
	case o.servers < 1 || o.servers > maxLeaseServers:
		return fmt.Errorf("--servers %d: want 1 to %d, they share this machine", o.servers, maxLeaseServers)
	case o.clients < 4 || o.clients > min(15_000, descriptors()):
		return fmt.Errorf("--clients %d: want 4 to %d, each has a descriptor at every server (ulimit -n)", o.clients, min(15_000, descriptors()))
	case o.deaths < 1 || o.deaths > o.clients/2:
		return fmt.Errorf("--deaths %d: want 1 to half of the %d clients", o.deaths, o.clients)
	case o.ttl%time.Second != 0 || o.ttl < 2*time.Second:
		return fmt.Errorf("--ttl %v: etcd wants whole seconds, 2s or more", o.ttl)
	case o.ttl*2 < o.interval*7:
		return fmt.Errorf("--ttl %v: client health wants 3.5 times the interval of %v or more", o.ttl, o.interval)
	}
	for _, s := range o.systems {
		if !slices.Contains(keepers, s) {
			return fmt.Errorf("--systems %s: want some of %s", s, strings.Join(keepers, ","))
		}
	}
	return nil
}

// compare runs all systems in turn and prints what came out.
func (o *leaseOptions) compare() error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	o.stop = stop
	var results []leaseResult
	for round := range o.rounds {
		for _, system := range o.systems {
			fmt.Fprintf(os.Stderr, "round %d of %d: %d clients of %d servers of %s\n", round+1, o.rounds, o.clients, o.servers, system)
			r, err := o.script(system)
			if err != nil {
				return fmt.Errorf("%s: %w", system, err)
			}
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

// table prints results for people.
func (o *leaseOptions) table(results []leaseResult) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "system\tconnect\tCPU servers\tCPU clients\tB/client/interval\tsegments\tKiB/client\tdetect p50\tworst\thalf at once\tlost\tmissed")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%.1f s\t%.2f %%\t%.2f %%\t%.0f\t%.1f\t%.1f\t%.2f s\t%.2f s\t%.2f s\t%d\t%d\n",
			r.System, r.Connect.Seconds(), r.ServerCPU, r.ClientCPU, r.Bytes, r.Segments, r.Memory/1024, r.Detect.Seconds(), r.Worst.Seconds(), r.Half.Seconds(), r.Lost, r.Missed)
	}
	_ = w.Flush() // to a standard output that is gone
	fmt.Println(o.conditions())
}

// conditions say how results came about.
func (o *leaseOptions) conditions() string {
	return fmt.Sprintf(`%d clients, %d servers, a process each, on loopback; a client is heard of once in %v and given up after %v.
health: a node with its NID and a TCP connection (typed_conns=0) to each server per client, records in a store, gossip and collectives between
the servers. etcd: a gRPC connection to one of the members per client, a key with a lease of that TTL, keep-alives on a stream; a client is gone at
a member when a watch there sees the key deleted. Bytes and segments are those of TCP on all sockets, in both directions and between servers;
memory is what the servers' resident memory grew by, all servers together. Clients die without a word: their connections end, which neither
side takes for a death.`, o.clients, o.servers, o.interval, o.ttl)
}
