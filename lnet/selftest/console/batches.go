package console

import (
	"context"
	"time"

	"ulnet/lnet/selftest/console/engine"
)

// AddBatch makes a batch without tests. Each session has a batch named "batch" from its start.
// Errors: ESRCH, EACCES, EINVAL, ENOSPC, and EEXIST if there is a batch of this name.
func (c *Console) AddBatch(ctx context.Context, key uint32, name string) error {
	_, err := c.run(ctx, &engine.AddBatch{Key: key, Name: name})
	return err
}

// AddTest adds a test to a batch: first to its servers and, if all of them have it, to its
// clients. Without an error the test is part of the batch, even if nodes have refused it. Errors:
// ESRCH and EACCES; ENOENT if there is no such batch or group; EINVAL for parameters that nodes refuse
// or that crash kernel nodes, for a group without active nodes, and if the batch is running; ENETDOWN
// if some nodes of the groups are not active; EBUSY while another test is being added to the batch;
// and ENOSPC.
func (c *Console) AddTest(ctx context.Context, key uint32, t Test) ([]Answer, error) {
	r, err := c.run(ctx, &engine.AddTest{Key: key, Test: t})
	return r.Answers, err
}

// Batches returns the batches in the order in which they were made, without their nodes and
// tests. ESRCH: there is no session.
func (c *Console) Batches() (list []Batch, err error) {
	c.look(func() { list, err = c.console.Batches() })
	return list, err
}

// Batch returns a batch with its nodes and tests. Errors: ESRCH, ENOENT.
func (c *Console) Batch(name string) (b Batch, err error) {
	c.look(func() { b, err = c.console.Batch(name) })
	return b, err
}

// Run starts the tests of a batch at all its clients. Errors: ESRCH, EACCES, ENOENT.
func (c *Console) Run(ctx context.Context, key uint32, batch string, timeout time.Duration) ([]Answer, error) {
	r, err := c.run(ctx, &engine.Run{Key: key, Batch: batch, Timeout: timeout})
	return r.Answers, err
}

// Stop stops the tests of a batch at all its clients: each unit ends after its RPC or, with force,
// at once. Errors: ESRCH, EACCES, ENOENT.
func (c *Console) Stop(ctx context.Context, key uint32, batch string, force bool) ([]Answer, error) {
	r, err := c.run(ctx, &engine.Stop{Key: key, Batch: batch, Force: force})
	return r.Answers, err
}

// Query asks the clients of a batch how many of its tests run there. If test is not 0, it asks how
// many units of the test with that number run; numbers begin at 1. A query of servers does not
// exist: a kernel's console asks the clients instead. Errors: ESRCH, EACCES, ENOENT.
func (c *Console) Query(ctx context.Context, key uint32, batch string, test int, timeout time.Duration) ([]Answer, error) {
	r, err := c.run(ctx, &engine.Query{Key: key, Batch: batch, Test: test, Timeout: timeout})
	return r.Answers, err
}

// Stat asks nodes for their counters. The errors are those of Ping.
func (c *Console) Stat(ctx context.Context, key uint32, target Target, timeout time.Duration) ([]Answer, error) {
	r, err := c.run(ctx, &engine.Stat{Key: key, Target: target, Timeout: timeout})
	return r.Answers, err
}
