package recording

import (
	"context"
	"fmt"

	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/console/engine"
)

// Run gives the command of a step to a console, and returns an error unless it ends as in the
// recording.
func (s *Step) Run(ctx context.Context, c *console.Console) error {
	answers, err := do(ctx, c, s.Command)
	return s.Check(answers, err)
}

// Check returns an error unless a command has ended as in the recording.
func (s *Step) Check(answers []console.Answer, err error) error {
	if err != nil {
		return fmt.Errorf("%T: %w", s.Command, err)
	}
	for i := range answers {
		if a := &answers[i]; a.Failed != 0 || a.Status != s.Status {
			return fmt.Errorf("%T: %+v, want status %d", s.Command, *a, s.Status)
		}
	}
	return nil
}

func do(ctx context.Context, c *console.Console, command engine.Command) ([]console.Answer, error) {
	switch d := command.(type) {
	case *engine.NewSession:
		_, err := c.NewSession(ctx, *d)
		return nil, err
	case *engine.EndSession:
		return c.EndSession(ctx, d.Key)
	case *engine.AddGroup:
		return c.AddGroup(ctx, d.Key, d.Name, d.IDs)
	case *engine.DeleteGroup:
		return c.DeleteGroup(ctx, d.Key, d.Group)
	case *engine.RemoveNodes:
		return c.RemoveNodes(ctx, d.Key, d.Group, d.IDs)
	case *engine.RefreshGroup:
		return c.RefreshGroup(ctx, d.Key, d.Group)
	case *engine.CleanGroup:
		return c.CleanGroup(ctx, d.Key, d.Group, d.States)
	case *engine.Ping:
		return c.Ping(ctx, d.Key, d.Target, d.Timeout)
	case *engine.Stat:
		return c.Stat(ctx, d.Key, d.Target, d.Timeout)
	}
	return doBatch(ctx, c, command)
}

// doBatch is do for the commands about batches.
func doBatch(ctx context.Context, c *console.Console, command engine.Command) ([]console.Answer, error) {
	switch d := command.(type) {
	case *engine.AddBatch:
		return nil, c.AddBatch(ctx, d.Key, d.Name)
	case *engine.AddTest:
		return c.AddTest(ctx, d.Key, d.Test)
	case *engine.Run:
		return c.Run(ctx, d.Key, d.Batch, d.Timeout)
	case *engine.Stop:
		return c.Stop(ctx, d.Key, d.Batch, d.Force)
	case *engine.Query:
		return c.Query(ctx, d.Key, d.Batch, d.Test, d.Timeout)
	}
	return nil, fmt.Errorf("recording: no console has the command %T", command)
}
