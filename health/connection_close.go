package health

import (
	"context"
	"fmt"
	"strings"

	"ulnet/health/engine"
	"ulnet/lnet/nid"
)

// Close disconnects from all servers and returns at once. Each is told once: one that does
// not hear it finds it out by asking. Wait returns ErrClosed from now on, and the node
// can Dial again.
func (c *Connection) Close() {
	c.Leave()
	c.runner.Close()
	for _, id := range c.watched() {
		c.unwatch(id)
	}
	c.transport.close()
}

// Leave begins to disconnect from all servers: each is told over and over until it
// answers, for T_evict at most. The result is closed when that is over. Wait returns
// ErrClosed from now on. Close has to be called all the same, and ends it.
func (c *Connection) Leave() (over <-chan struct{}) {
	c.runner.Do(engine.ClientInput{Kind: engine.ClientLeave})
	c.setMaster(nid.NID{})
	c.once.Do(func() { close(c.closed) })
	return c.left
}

// CloseContext is Close that waits until all servers know that this client has left, for T_evict
// at most. When ctx ends before, or the time is over, the error is [errUnaware] and names
// the servers that have not answered. The connection is closed in any case.
func (c *Connection) CloseContext(ctx context.Context) error {
	defer c.Close()
	select {
	case <-c.Leave():
	case <-ctx.Done():
	}
	var names []string
	c.runner.Inspect(func() {
		for _, id := range c.m.Unaware() {
			names = append(names, id.String())
		}
	})
	if len(names) > 0 {
		return fmt.Errorf("%w: %s", errUnaware, strings.Join(names, ", "))
	}
	return nil
}
