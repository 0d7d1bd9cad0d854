package console

import (
	"ulnet/lnet/selftest/console/engine"
	"ulnet/portals"
)

// Begin begins a command without waiting for its end, for tests in virtual time.
func (c *Console) Begin(command engine.Command, done func(engine.Result, error)) {
	c.start(command, func(e engine.Effect) { done(e.Result, e.Err) })
}

// UnderWay returns the number of an RPC under way; 0: there is none.
func (c *Console) UnderWay() (id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id = range c.posted { // in tests at most one RPC is under way
	}
	return id
}

// Replied gives the console an event of the MD that it has posted for the reply to an RPC.
func (c *Console) Replied(id uint64, b []byte, ev *portals.Event) { c.replied(id, b, ev) }

// FirstID returns one less than the number of a console's first RPC.
var FirstID = firstID
