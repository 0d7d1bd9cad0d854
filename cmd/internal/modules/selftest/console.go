package selftest

import (
	"context"
	"errors"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/lnet/selftest/console"
)

// The functions of this file call the console. They return its errors with errno and hint.

// explain converts an error of the console so that the control socket transfers its errno and hint.
func explain(err error) error {
	if e, ok := errors.AsType[*console.Error](err); ok {
		return cli.Hint(cli.Errno(e.Errno, errors.New(e.Why)), "%s", e.Hint)
	}
	return err
}

// use returns the console. ENODEV: this daemon has none.
func (m *Module) use() (*console.Console, error) {
	if m.console == nil {
		return nil, cli.Hint(cli.Errnof(syscall.ENODEV, "this daemon has no console of selftest"), "set selftest to 1 in the configuration of lnetd, and start it again")
	}
	return m.console, nil
}

// call calls a function with the console.
func call[T any](m *Module, f func(*console.Console) (T, error)) (answer T, err error) {
	c, err := m.use()
	if err == nil {
		answer, err = f(c)
	}
	return answer, explain(err)
}

// ask is a method that does what call does, for functions f that return answers of nodes.
func (m *Module) ask(f func(*console.Console) ([]console.Answer, error)) ([]console.Answer, error) {
	return call(m, f)
}

func (m *Module) session() (console.Session, error) {
	return call(m, (*console.Console).Session)
}

func (m *Module) newSession(ctx context.Context, r NewSessionRequest) (console.Session, error) {
	return call(m, func(c *console.Console) (console.Session, error) {
		return c.NewSession(ctx, console.NewSession{Key: r.Key, Name: r.Name, Timeout: r.Timeout, Force: r.Force, Features: r.Features})
	})
}

// endSession ends the session, whatever its key is, as a kernel's console does.
func (m *Module) endSession(ctx context.Context, _ control.None) ([]console.Answer, error) {
	return m.ask(func(c *console.Console) ([]console.Answer, error) {
		s, err := c.Session()
		if err != nil {
			return nil, err
		}
		return c.EndSession(ctx, s.Key)
	})
}

func (m *Module) ping(ctx context.Context, r AskRequest) ([]console.Answer, error) {
	return m.ask(func(c *console.Console) ([]console.Answer, error) { return c.Ping(ctx, r.Key, r.Target, r.Timeout) })
}

func (m *Module) stat(ctx context.Context, r AskRequest) ([]console.Answer, error) {
	return m.ask(func(c *console.Console) ([]console.Answer, error) { return c.Stat(ctx, r.Key, r.Target, r.Timeout) })
}

func (m *Module) groups() ([]console.Group, error) {
	list, err := call(m, (*console.Console).Groups)
	for i := range list {
		list[i].Nodes = nil
	}
	return list, err
}

func (m *Module) group(r Named) (console.Group, error) {
	return call(m, func(c *console.Console) (console.Group, error) { return c.Group(r.Name) })
}

func (m *Module) addGroup(ctx context.Context, r GroupRequest) ([]console.Answer, error) {
	return m.ask(func(c *console.Console) ([]console.Answer, error) { return c.AddGroup(ctx, r.Key, r.Name, r.Nodes) })
}

func (m *Module) addNodes(ctx context.Context, r GroupRequest) ([]console.Answer, error) {
	return m.ask(func(c *console.Console) ([]console.Answer, error) { return c.AddNodes(ctx, r.Key, r.Name, r.Nodes) })
}

func (m *Module) refreshGroup(ctx context.Context, r GroupRequest) ([]console.Answer, error) {
	return m.ask(func(c *console.Console) ([]console.Answer, error) { return c.RefreshGroup(ctx, r.Key, r.Name) })
}

func (m *Module) cleanGroup(ctx context.Context, r CleanRequest) ([]console.Answer, error) {
	return m.ask(func(c *console.Console) ([]console.Answer, error) { return c.CleanGroup(ctx, r.Key, r.Name, r.States) })
}

func (m *Module) removeNodes(ctx context.Context, r GroupRequest) ([]console.Answer, error) {
	return m.ask(func(c *console.Console) ([]console.Answer, error) { return c.RemoveNodes(ctx, r.Key, r.Name, r.Nodes) })
}

func (m *Module) deleteGroup(ctx context.Context, r GroupRequest) ([]console.Answer, error) {
	return m.ask(func(c *console.Console) ([]console.Answer, error) { return c.DeleteGroup(ctx, r.Key, r.Name) })
}

func (m *Module) batches() ([]console.Batch, error) { return call(m, (*console.Console).Batches) }

func (m *Module) batch(r Named) (console.Batch, error) {
	return call(m, func(c *console.Console) (console.Batch, error) { return c.Batch(r.Name) })
}

func (m *Module) addBatch(ctx context.Context, r BatchRequest) error {
	_, err := m.ask(func(c *console.Console) ([]console.Answer, error) { return nil, c.AddBatch(ctx, r.Key, r.Batch) })
	return err
}

func (m *Module) addTest(ctx context.Context, r TestRequest) ([]console.Answer, error) {
	return m.ask(func(c *console.Console) ([]console.Answer, error) { return c.AddTest(ctx, r.Key, r.Test) })
}

func (m *Module) run(ctx context.Context, r BatchRequest) ([]console.Answer, error) {
	return m.ask(func(c *console.Console) ([]console.Answer, error) { return c.Run(ctx, r.Key, r.Batch, r.Timeout) })
}

func (m *Module) stop(ctx context.Context, r BatchRequest) ([]console.Answer, error) {
	return m.ask(func(c *console.Console) ([]console.Answer, error) { return c.Stop(ctx, r.Key, r.Batch, r.Force) })
}

func (m *Module) query(ctx context.Context, r BatchRequest) ([]console.Answer, error) {
	return m.ask(func(c *console.Console) ([]console.Answer, error) {
		return c.Query(ctx, r.Key, r.Batch, r.Test, r.Timeout)
	})
}
