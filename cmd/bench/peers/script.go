package main

import (
	"fmt"
	"os"
	"syscall"
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
	// Since when the others knew, on average and the last. What gossip does not have is 0.
	Newcomer  spread `json:"newcomer"`
	Attribute spread `json:"attribute"`
	Goodbye   spread `json:"goodbye"`
	Death     spread `json:"death"`
	Silence   spread `json:"silence"`
	// While some nodes were stopped and continued: how often others, which were
	// well, were said to be dead, by whom ever, and how many of them; and how
	// often a dead one was said to be alive.
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

// script runs one system: everybody joins, traffic is measured, one node comes, one
// writes an attribute, one says goodbye, one dies, one falls silent, some are paused.
func (o *options) script(system string, stop <-chan os.Signal) (result, error) {
	r := result{System: system, Nodes: o.nodes}
	began := time.Now()
	c, err := o.start(system, stop)
	if err != nil {
		return r, err
	}
	defer c.end()
	for _, part := range []func(*cluster, *result) error{o.join, o.traffic, o.newcomer, o.attribute, o.goodbye, o.death, o.silence, o.pause} {
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
			if e.by != e.node && (e.word == "up" || e.word == "down") {
				known[[2]int{e.by, e.node}] = e.word == "up"
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
	calm := o.calm
	if r.System == "gossip" { // it carries its parameters in its first N cycles
		calm = max(calm, min(time.Duration(o.nodes+5)*o.interval, time.Minute))
	}
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

// pause stops and continues some nodes: 8 s blocked, 0.1 s open.
func (o *options) pause(c *cluster, r *result) error {
	if o.paused == 0 || o.pauses == 0 {
		return nil
	}
	var some []int
	ill := map[int]bool{}
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
		case e.word == "up" && c.nodes[e.node].gone:
			r.Resurrection++
		case e.word == "down" && !ill[e.node] && !c.nodes[e.node].gone:
			r.FalseDeaths++
			victims[e.node] = true
		}
	}
	r.Victims = len(victims)
	return err
}
