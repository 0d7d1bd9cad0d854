package console

import "ulnet/lnet/selftest/console/engine"

// Begin begins a command without waiting for its end, for tests in virtual time.
func (c *Console) Begin(command engine.Command, done func(engine.Result, error)) {
	c.start(command, func(e engine.Effect) { done(e.Result, e.Err) })
}
