package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// crew is the processes of a trial: servers first, then clients.
type crew struct {
	self    string
	members []*member
	stop    <-chan os.Signal

	mu    sync.Mutex
	times map[int][]time.Time // by client: when servers said that it is gone; guarded by mu
}

// member is a process.
type member struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	server  bool
	ready   bool
	answers chan saying // closed at its end
	living  int         // its clients that have not been killed
}

// saying is a line that a process writes to its standard output.
type saying struct {
	Ready  int      `json:"ready,omitempty"` // it is; with how many clients, for servers 1
	Gone   *death   `json:"gone,omitempty"`  // a server gives up a client
	Counts *figures `json:"counts,omitempty"`
	Killed []death  `json:"killed,omitempty"`
	Error  string   `json:"error,omitempty"`
}

// death is that of a client, by the wall clock in ns.
type death struct {
	Client int   `json:"client"`
	At     int64 `json:"at"`
}

// figures are the counters of processes.
type figures struct {
	CPU      time.Duration `json:"cpu"`
	Counted  time.Duration `json:"counted"` // CPU again, when all was counted: that costs some, too
	Memory   int64         `json:"memory"`  // resident
	Bytes    uint64        `json:"bytes"`   // sent on TCP
	Segments uint64        `json:"segments"`
}

func newCrew(stop <-chan os.Signal) (*crew, error) {
	self, err := os.Executable()
	return &crew{self: self, stop: stop, times: map[int][]time.Time{}}, err
}

func (c *crew) start(server bool, args []string) error {
	m := &member{server: server, answers: make(chan saying, 4)}
	m.cmd = exec.Command(c.self, args...)
	m.cmd.Stderr = os.Stderr
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := m.cmd.StdoutPipe()
	if err == nil {
		m.in, err = m.cmd.StdinPipe()
	}
	if err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		return err
	}
	c.members = append(c.members, m)
	go c.listen(m, out)
	return nil
}

// listen takes what a process says.
func (c *crew) listen(m *member, out io.Reader) {
	defer close(m.answers)
	for lines := json.NewDecoder(out); ; {
		var s saying
		if err := lines.Decode(&s); err != nil {
			return
		}
		if s.Gone == nil {
			m.answers <- s
			continue
		}
		c.mu.Lock()
		c.times[s.Gone.Client] = append(c.times[s.Gone.Client], time.Unix(0, s.Gone.At))
		c.mu.Unlock()
	}
}

// answer is what a process says next.
func (c *crew) answer(m *member, limit time.Duration) (s saying, err error) {
	select {
	case s, ok := <-m.answers:
		if !ok {
			return s, fmt.Errorf("a process has ended")
		}
		if s.Error != "" {
			return s, fmt.Errorf("a process: %s", s.Error)
		}
		return s, nil
	case <-c.stop:
		return s, fmt.Errorf("interrupted")
	case <-time.After(limit):
		return s, fmt.Errorf("a process has not answered for %v", limit)
	}
}

// ready waits until all processes are.
func (c *crew) ready(limit time.Duration) error {
	for end := time.Now().Add(limit); ; {
		for _, m := range c.members {
			if m.ready {
				continue
			}
			s, err := c.answer(m, time.Until(end))
			if err != nil {
				return err
			}
			m.ready, m.living = true, s.Ready
		}
		return nil
	}
}

// ask has a process do something and takes its answer.
func (c *crew) ask(m *member, format string, args ...any) (saying, error) {
	if _, err := fmt.Fprintf(m.in, format+"\n", args...); err != nil {
		return saying{}, err
	}
	return c.answer(m, 30*time.Second)
}

// count adds up the counters of the servers, or of the clients.
func (c *crew) count(servers bool) (sum figures, err error) {
	for _, m := range c.members {
		if m.server != servers {
			continue
		}
		s, err := c.ask(m, "count")
		if err != nil || s.Counts == nil {
			return sum, fmt.Errorf("counters of a process: %+v, %w", s, err)
		}
		sum.CPU += s.Counts.CPU
		sum.Counted += s.Counts.Counted
		sum.Memory += s.Counts.Memory
		sum.Bytes += s.Counts.Bytes
		sum.Segments += s.Counts.Segments
	}
	return sum, nil
}

// kill has n clients die, as evenly from all processes as it can be.
func (c *crew) kill(n int) (dead []death, err error) {
	var some []*member
	for _, m := range c.members {
		if !m.server {
			some = append(some, m)
		}
	}
	for i, m := range some {
		share := n*(i+1)/len(some) - n*i/len(some)
		s, err := c.ask(m, "kill %d", share)
		if err != nil || len(s.Killed) != share {
			return dead, fmt.Errorf("%d of %d clients die: %w", len(s.Killed), share, err)
		}
		dead = append(dead, s.Killed...)
	}
	return dead, nil
}

// gone returns which clients were given up, and when by each server.
func (c *crew) gone() map[int][]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := make(map[int][]time.Time, len(c.times))
	for client, times := range c.times {
		m[client] = times[:len(times):len(times)]
	}
	return m
}

func (c *crew) rest(d time.Duration) error {
	_, err := c.wait(d, func() bool { return false })
	return err
}

// wait waits until a condition holds or time is up, and reports whether it does.
func (c *crew) wait(limit time.Duration, holds func() bool) (bool, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(limit); ; {
		if holds() {
			return true, nil
		}
		select {
		case <-c.stop:
			return false, fmt.Errorf("interrupted")
		case <-end:
			return false, nil
		case <-tick.C:
		}
	}
}

// end kills what runs.
func (c *crew) end() {
	for _, m := range c.members {
		_ = m.cmd.Process.Kill() // it may have ended
	}
	for _, m := range c.members {
		_ = m.cmd.Wait() // killed
	}
}
