package main

import (
	"fmt"
	"os"
	"syscall"
	"text/tabwriter"
	"time"
)

// result is what one system did.
type result struct {
	System  string        `json:"system"`
	Round   int           `json:"round"`
	Nodes   int           `json:"nodes"`
	Join    time.Duration `json:"join_ns"` // until all know all
	First   time.Duration `json:"first_ns"`
	Detect  time.Duration `json:"detect_ns"` // of a death, by the last observer
	Bytes   float64       `json:"payload_bytes_per_node_and_second"`
	Packets float64       `json:"messages_per_node_and_second"`
	CPU     float64       `json:"cpu_percent_of_a_core_per_node"`
	// While some nodes were stopped and continued: how often others, which were
	// well, were said to be dead, by whom ever, and how many of them; and how
	// often the dead one was said to be alive.
	FalseDeaths  int `json:"false_deaths"`
	Victims      int `json:"victims"`
	Resurrection int `json:"resurrections"`
}

// The parts of the script.
const (
	joinLimit   = 90 * time.Second // memberlist joins 64 nodes in 65 s at times
	detectLimit = 40 * time.Second
	blocked     = 8 * time.Second
	open        = 100 * time.Millisecond
	settle      = 5 * time.Second
)

// script runs one system: everybody joins, traffic is measured, one node dies,
// some are paused.
func (o *options) script(system string, stop <-chan os.Signal) (result, error) {
	r := result{System: system, Nodes: o.nodes}
	began := time.Now()
	c, err := o.start(system, stop)
	if err != nil {
		return r, err
	}
	defer c.end()
	for _, part := range []func(*cluster, *result) error{o.join, o.traffic, o.death, o.pause} {
		if err := part(c, &r); err != nil {
			return r, err
		}
	}
	fmt.Fprintf(os.Stderr, "  took %v\n", time.Since(began).Round(time.Second))
	return r, nil
}

// join waits until everybody knows everybody.
func (o *options) join(c *cluster, r *result) error {
	began := time.Now()
	known := func() bool {
		known := map[[2]int]bool{}
		for _, e := range c.since(time.Time{}) {
			if e.by != e.node {
				known[[2]int{e.by, e.node}] = e.up
			}
		}
		n := 0
		for _, up := range known {
			if up {
				n++
			}
		}
		return n == o.nodes*(o.nodes-1)
	}
	ok, err := c.wait(joinLimit, known)
	if err == nil && !ok {
		err = fmt.Errorf("not all of %d nodes have joined after %v", o.nodes, joinLimit)
	}
	r.Join = time.Since(began)
	return err
}

// traffic measures bytes and CPU of a cluster in which nothing happens.
func (o *options) traffic(c *cluster, r *result) error {
	// Gossip carries its parameters in its first N cycles: let them pass.
	calm := min(time.Duration(o.nodes+5)*o.interval, time.Minute)
	if _, err := c.wait(calm, nil); err != nil {
		return err
	}
	before, err := c.sum()
	if err != nil {
		return err
	}
	at := time.Now()
	if _, err := c.wait(o.measure, nil); err != nil {
		return err
	}
	after, err := c.sum()
	per := time.Since(at).Seconds() * float64(o.nodes)
	r.Bytes = float64(after.bytes-before.bytes) / per
	r.Packets = float64(after.messages-before.messages) / per
	r.CPU = 100 * (after.cpu - before.cpu).Seconds() / per
	return err
}

// victim is the node that dies.
const victim = 1

// death kills a node and waits until all others know.
func (o *options) death(c *cluster, r *result) error {
	at := time.Now()
	if err := c.signal(syscall.SIGKILL, victim); err != nil {
		return err
	}
	told := map[int]time.Duration{}
	ok, err := c.wait(detectLimit, func() bool {
		for _, e := range c.since(at) {
			if _, known := told[e.by]; e.node == victim && !e.up && !known {
				told[e.by] = e.at.Sub(at)
			}
		}
		return len(told) == o.nodes-1
	})
	if err == nil && !ok {
		err = fmt.Errorf("%d of %d nodes know of the death after %v", len(told), o.nodes-1, detectLimit)
	}
	r.First = detectLimit
	for _, d := range told {
		r.First, r.Detect = min(r.First, d), max(r.Detect, d)
	}
	return err
}

// pause stops and continues some nodes: 8 s blocked, 0.1 s open.
func (o *options) pause(c *cluster, r *result) error {
	if o.paused == 0 || o.pauses == 0 {
		return nil
	}
	var some []int
	ill := map[int]bool{victim: true}
	for i := range o.paused {
		some = append(some, o.nodes-1-i)
		ill[o.nodes-1-i] = true
	}
	at := time.Now()
	for range o.pauses {
		for _, step := range []struct {
			signal syscall.Signal
			lasts  time.Duration
		}{{syscall.SIGSTOP, blocked}, {syscall.SIGCONT, open}} {
			if err := c.signal(step.signal, some...); err != nil {
				return err
			}
			if _, err := c.wait(step.lasts, nil); err != nil {
				return err
			}
		}
	}
	_, err := c.wait(settle, nil)
	victims := map[int]bool{}
	for _, e := range c.since(at) {
		switch {
		case e.node == victim && e.up:
			r.Resurrection++
		case !ill[e.node] && !e.up:
			r.FalseDeaths++
			victims[e.node] = true
		}
	}
	r.Victims = len(victims)
	return err
}

// table prints results for people.
func (o *options) table(results []result) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "system\tjoin\tdetected by one\tby all\tB/node/s\tmsgs/node/s\tCPU/node\tfalse deaths\tof nodes\tresurrections")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%.1f s\t%.1f s\t%.1f s\t%.0f\t%.1f\t%.2f %%\t%d\t%d\t%d\n",
			r.System, r.Join.Seconds(), r.First.Seconds(), r.Detect.Seconds(), r.Bytes, r.Packets, r.CPU,
			r.FalseDeaths, r.Victims, r.Resurrection)
	}
	_ = w.Flush() // to a standard output that is gone
	fmt.Printf("%d nodes, a process each; interval %v (memberlist-lan: its defaults); payload bytes, without headers of TCP, UDP and LNet;\n"+
		"false deaths while %d nodes were stopped %d times for %v.\n", o.nodes, o.interval, o.paused, o.pauses, blocked)
}
