package console

import "ulnet/lnet/selftest/console/engine"

// Begin begins a command without waiting for its end, for tests in virtual time.
func (c *Console) Begin(command engine.Command, done func(engine.Result, error)) {
	c.start(command, func(e engine.Effect) { done(e.Result, e.Err) })
}

// UnderWay returns the number of an RPC under way; 0: there is none.
func (c *Console) UnderWay() (id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id = range c.posted { // tests have one
	}
	return id
}

// FirstID is the number before that of a console's first RPC.
var FirstID = firstID
