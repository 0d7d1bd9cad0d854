package health

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ulnet/health/engine"
	"ulnet/lnet/nid"
)

// Leave begins to disconnect from all servers: it repeats the message to each server until the
// server answers, for T_evict at most. The result is closed when that is done. Wait returns
// ErrClosed from now on. The program must still call Close, which also ends the repetitions.
func (c *Connection) Leave() (over <-chan struct{}) {
	c.runner.Do(engine.ClientInput{Kind: engine.ClientLeave})
	c.setMaster(nid.NID{})
	c.once.Do(func() { close(c.closed) })
	return c.left
}

// hasLeft reports whether Leave or Close was called.
func (c *Connection) hasLeft() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// Close disconnects from all servers, as Leave does, and waits until all of them know that this
// client has left, for T_evict at most. If ctx ends or T_evict has passed before that, the error
// names the servers that have not answered. Each of them was told at least once; a server that
// has not received the message finds out later, by asking. The connection is closed in any case,
// and the node can Dial again.
func (c *Connection) Close(ctx context.Context) error {
	select {
	case <-c.Leave():
	case <-c.ended:
	case <-ctx.Done():
	}
	c.closing.Do(c.end)
	var names []string
	c.runner.Inspect(func() {
		for _, id := range c.m.Unaware() {
			names = append(names, id.String())
		}
	})
	if len(names) > 0 {
		return fmt.Errorf("%w: %s", ErrUnaware, strings.Join(names, ", "))
	}
	return nil
}

// end stops the machine and withdraws the buffers.
func (c *Connection) end() {
	c.runner.Close()
	for _, id := range slices.Collect(maps.Keys(c.watches)) { // any order: every watch ends
		c.unwatch(id)
	}
	c.transport.close()
	close(c.ended)
}
