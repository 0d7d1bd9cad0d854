package main

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"ulnet/lnd/lndtest/loopback"
)

// cluster is the processes of one system.
type cluster struct {
	system string
	nodes  []*process
	port   uint16
	stop   <-chan os.Signal

	mu     sync.Mutex
	events []event // guarded by mu
}

// process is one node.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	stats chan stats
	gone  bool // on purpose: killed, stopped, or it said goodbye
}

// event is what a node says: what it was told, or that it begins something.
type event struct {
	at    time.Time
	by    int // the node that says so
	word  string
	node  int
	value int64
}

// stats are counters of a node.
type stats struct {
	bytes, messages uint64
	cpu             time.Duration
}

// start starts all nodes.
func (o *options) start(system string, stop <-chan os.Signal) (*cluster, error) {
	var addrs []netip.Addr
	for i := range o.nodes + 1 { // and a newcomer
		addrs = append(addrs, addressOf(i))
	}
	port, err := loopback.FreePort(addrs...)
	if err != nil {
		return nil, err
	}
	c := &cluster{system: system, port: port, stop: stop}
	for range o.nodes {
		if err := o.startNode(c); err != nil {
			c.end()
			return nil, err
		}
	}
	return c, nil
}

// startNode starts the next node.
func (o *options) startNode(c *cluster) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	i, p := len(c.nodes), &process{stats: make(chan stats, 1)}
	p.cmd = exec.Command(self, "--as-node", c.system, "--index", strconv.Itoa(i), "--port", strconv.Itoa(int(c.port)),
		"--nodes", strconv.Itoa(o.nodes), "--interval", o.interval.String())
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	c.nodes = append(c.nodes, p)
	go c.listen(i, p, out)
	return nil
}

// listen takes what a node says.
func (c *cluster) listen(by int, p *process, out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var at, a, b, d int64
		var word string
		_, _ = fmt.Sscan(lines.Text(), &at, &word, &a, &b, &d) // most have fewer
		if word == "stats" {
			p.stats <- stats{uint64(a), uint64(b), time.Duration(d)}
			continue
		}
		c.mu.Lock()
		c.events = append(c.events, event{time.Unix(0, at), by, word, int(a), b})
		c.mu.Unlock()
	}
	close(p.stats)
}

// since returns the events since an instant.
func (c *cluster) since(at time.Time) (list []event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if !e.at.Before(at) {
			list = append(list, e)
		}
	}
	return list
}

// sum asks all nodes for their counters.
func (c *cluster) sum() (total stats, err error) {
	for i, p := range c.nodes {
		if p.gone {
			continue
		}
		if _, err := fmt.Fprintln(p.in, "stats"); err != nil {
			return total, fmt.Errorf("node %d: %w", i, err)
		}
		s, ok := <-p.stats
		if !ok {
			return total, fmt.Errorf("node %d has ended", i)
		}
		total.bytes, total.messages, total.cpu = total.bytes+s.bytes, total.messages+s.messages, total.cpu+s.cpu
	}
	return total, nil
}

// signal sends a signal to some nodes.
func (c *cluster) signal(s syscall.Signal, nodes ...int) error {
	for _, i := range nodes {
		if err := c.nodes[i].cmd.Process.Signal(s); err != nil {
			return err
		}
		c.nodes[i].gone = c.nodes[i].gone || s == syscall.SIGKILL
	}
	return nil
}

// tell has a node do something.
func (c *cluster) tell(node int, what string) error {
	_, err := fmt.Fprintln(c.nodes[node].in, what)
	return err
}

// wait waits until a condition holds or time is up, and reports whether it does.
func (c *cluster) wait(limit time.Duration, holds func() bool) (bool, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); ; {
		select {
		case <-c.stop:
			return false, fmt.Errorf("interrupted")
		case <-tick.C:
		}
		if holds != nil && holds() {
			return true, nil
		}
		if time.Now().After(end) {
			return false, nil
		}
	}
}

// end kills what runs.
func (c *cluster) end() {
	for _, p := range c.nodes {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()         // killed
	}
}
