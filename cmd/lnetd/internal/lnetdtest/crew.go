//go:build linux

package lnetdtest

import (
	"sync"
	"testing"
)

// crew has the daemons that tests have started. All daemons of a test get the signal to end at
// the same time. If they ended one after the other, each would wait for messages to daemons that
// have ended already.
var crew = daemons{byTest: map[testing.TB][]*Daemon{}}

type daemons struct {
	mu     sync.Mutex
	byTest map[testing.TB][]*Daemon // daemons of each test; guarded by mu
}

func (c *daemons) add(d *Daemon) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byTest[d.t] = append(c.byTest[d.t], d)
}

// dismiss tells all daemons of a test to end. Only the first call has an effect.
func (c *daemons) dismiss(t testing.TB) {
	c.mu.Lock()
	list := c.byTest[t]
	delete(c.byTest, t)
	c.mu.Unlock()
	for _, d := range list {
		d.tell.Do(d.terminate)
	}
}
