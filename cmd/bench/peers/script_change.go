package main

import (
	"fmt"
	"slices"
	"syscall"
	"time"
)

// spread is how long it took until others knew of something.
type spread struct {
	Mean time.Duration `json:"mean_ns"`
	Last time.Duration `json:"last_ns"`
}

// Who does what.
const (
	victim   = 1 // dies
	leaver   = 2 // says goodbye
	silenced = 3 // is stopped for ever
	writer   = 0 // writes an attribute
	writes   = 3
)

// observe waits until all others that live have said something of a node, and returns
// how long after an instant they first did; those follow each other in order.
func (o *options) observe(c *cluster, what string, node int, from time.Time, is func(event) bool) ([]time.Duration, error) {
	others := 0
	for i, p := range c.nodes {
		if i != node && !p.gone {
			others++
		}
	}
	told := map[int]time.Duration{}
	ok, err := c.wait(detectLimit, func() bool {
		for _, e := range c.since(from) {
			if _, known := told[e.by]; e.node == node && e.by != node && is(e) && !known && !c.nodes[e.by].gone {
				told[e.by] = e.at.Sub(from)
			}
		}
		return len(told) == others
	})
	if err == nil && !ok {
		err = fmt.Errorf("%d of %d nodes know of %s after %v", len(told), others, what, detectLimit)
	}
	var list []time.Duration
	for _, d := range told {
		list = append(list, d)
	}
	slices.Sort(list)
	return list, err
}

// spreadOf sums up what observers needed.
func spreadOf(list []time.Duration) (s spread) {
	for _, d := range list {
		s.Mean += d / time.Duration(len(list))
		s.Last = max(s.Last, d)
	}
	return s
}

// told are events of a kind.
func told(word string) func(event) bool { return func(e event) bool { return e.word == word } }

// began waits until a node has begun something after an instant, and returns when.
func (c *cluster) began(node int, word string, after time.Time) (at time.Time, err error) {
	ok, err := c.wait(detectLimit, func() bool {
		for _, e := range c.since(after) {
			if e.by == node && e.word == word {
				at = e.at
				return true
			}
		}
		return false
	})
	if err == nil && !ok {
		err = fmt.Errorf("node %d does not obey %q", node, word)
	}
	return at, err
}

// order has a node do something, and returns when it began.
func (c *cluster) order(node int, word, value string) (at time.Time, err error) {
	now := time.Now()
	if err := c.tell(node, word+" "+value); err != nil {
		return at, err
	}
	return c.began(node, word, now)
}

// newcomer starts one node more.
func (o *options) newcomer(c *cluster, r *result) error {
	if r.System == "gossip" {
		return nil // its list is fixed
	}
	node, now := len(c.nodes), time.Now()
	if err := o.startNode(c); err != nil {
		return err
	}
	at, err := c.began(node, "join", now)
	if err != nil {
		return err
	}
	list, err := o.observe(c, "the newcomer", node, at, told("up"))
	r.Newcomer = spreadOf(list)
	return err
}

// attribute has a node write an attribute some times.
func (o *options) attribute(c *cluster, r *result) error {
	if r.System == "gossip" {
		return nil // it has none
	}
	var all []time.Duration
	for k := range int64(writes) {
		at, err := c.order(writer, "set", fmt.Sprint(k+1))
		if err != nil {
			return err
		}
		list, err := o.observe(c, "an attribute", writer, at, func(e event) bool { return e.word == "attr" && e.value == k+1 })
		if err != nil {
			return err
		}
		all = append(all, list...)
		if _, err := c.wait(time.Second, nil); err != nil {
			return err
		}
	}
	r.Attribute = spreadOf(all)
	return nil
}

// goodbye has a node leave, and ends it when all know.
func (o *options) goodbye(c *cluster, r *result) error {
	if r.System == "gossip" {
		return nil // it has none
	}
	at, err := c.order(leaver, "leave", "")
	if err != nil {
		return err
	}
	c.nodes[leaver].gone = true
	list, err := o.observe(c, "a goodbye", leaver, at, told("down"))
	if err != nil {
		return err
	}
	r.Goodbye = spreadOf(list)
	return c.signal(syscall.SIGKILL, leaver)
}

// death kills a node and waits until all others know.
func (o *options) death(c *cluster, r *result) error {
	at := time.Now()
	if err := c.signal(syscall.SIGKILL, victim); err != nil {
		return err
	}
	list, err := o.observe(c, "the death", victim, at, told("down"))
	if err == nil {
		r.First, r.Death = list[0], spreadOf(list)
		r.Detect = r.Death.Last
	}
	return err
}

// silence stops a node for ever: its host answers, as that of a hanging server does,
// and it does not.
func (o *options) silence(c *cluster, r *result) error {
	if silenced >= o.nodes-1-o.paused {
		return nil // too few are left
	}
	at := time.Now()
	c.nodes[silenced].gone = true
	if err := c.signal(syscall.SIGSTOP, silenced); err != nil {
		return err
	}
	list, err := o.observe(c, "the silence", silenced, at, told("down"))
	if err != nil {
		return err
	}
	r.Silence = spreadOf(list)
	return c.signal(syscall.SIGKILL, silenced)
}
