package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnet/selftest/console"
)

// daemon is the console of a daemon without test nodes: a test says what the nodes answer.
type daemon struct {
	run, query, stop, stat func(context.Context) ([]console.Answer, error)
	tests                  []console.TestInfo // tests of each batch; nil: one that sends no RPC
	remove                 []console.Answer   // what nodes answer when they are told to leave the session
	removeNodes            func(context.Context, selftest.GroupRequest) ([]console.Answer, error)
	add                    func(context.Context)  // called when a group is made; nil: no function is called
	others                 func() []console.Batch // batches besides the one of a command; nil: none
	queryOther             func() uint32          // returns how many tests of another batch a client runs

	mu      sync.Mutex
	stops   int      // number of requests to stop a batch; guarded by mu
	deleted []string // names of deleted groups; guarded by mu
	busy    int      // number of requests to delete a group that will fail because a command uses it; guarded by mu
	none    bool     // there is no group; guarded by mu
	down    int      // number of nodes of the group, none of which is active; guarded by mu
}

// says returns an operation of the console for which nodes give the same answers each time.
func says(answers ...console.Answer) func(context.Context) ([]console.Answer, error) {
	return func(context.Context) ([]console.Answer, error) { return answers, nil }
}

func newDaemon() *daemon {
	fine := says(console.Answer{ID: at(1)})
	return &daemon{run: fine, query: fine, stop: fine, stat: fine}
}

func (d *daemon) routes() []control.Route {
	type batch = selftest.BatchRequest
	type group = selftest.GroupRequest
	return []control.Route{
		selftest.OpBatches.Do(func(context.Context, control.None) ([]console.Batch, error) {
			if d.others == nil {
				return nil, nil
			}
			return d.others(), nil
		}),
		selftest.OpBatch.Do(func(_ context.Context, r selftest.Named) (console.Batch, error) { return d.batch(r.Name), nil }),
		selftest.OpAddBatch.Do(func(context.Context, batch) error { return nil }),
		selftest.OpRun.Do(func(ctx context.Context, _ batch) ([]console.Answer, error) { return d.run(ctx) }),
		selftest.OpQuery.Do(func(ctx context.Context, r batch) ([]console.Answer, error) {
			if strings.HasPrefix(r.Batch, "other") {
				return []console.Answer{{ID: at(1), Active: d.queryOther()}}, nil
			}
			return d.query(ctx)
		}),
		selftest.OpStat.Do(func(ctx context.Context, _ selftest.AskRequest) ([]console.Answer, error) { return d.stat(ctx) }),
		selftest.OpStop.Do(func(ctx context.Context, _ batch) ([]console.Answer, error) {
			d.mu.Lock()
			d.stops++
			d.mu.Unlock()
			return d.stop(ctx)
		}),
		selftest.OpEndSession.Do(func(context.Context, control.None) ([]console.Answer, error) { return d.remove, nil }),
		selftest.OpAddGroup.Do(func(ctx context.Context, _ group) ([]console.Answer, error) {
			if d.add != nil {
				d.add(ctx)
			}
			return nil, ctx.Err()
		}),
		selftest.OpAddNodes.Do(func(ctx context.Context, _ group) ([]console.Answer, error) { return d.run(ctx) }),
		selftest.OpRemoveNodes.Do(func(ctx context.Context, r group) ([]console.Answer, error) { return d.removeNodes(ctx, r) }),
		selftest.OpGroup.Do(func(_ context.Context, r selftest.Named) (console.Group, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.none {
				return console.Group{}, cli.Errnof(syscall.ENOENT, "there is no group %s", r.Name)
			}
			return console.Group{Name: r.Name, Counts: console.Counts{Down: d.down, Total: d.down}}, nil
		}),
		selftest.OpDeleteGroup.Do(func(_ context.Context, r group) ([]console.Answer, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.busy > 0 {
				d.busy--
				return nil, cli.Errnof(syscall.EBUSY, "another command uses group %s", r.Name)
			}
			d.deleted = append(d.deleted, r.Name)
			return d.remove, nil
		}),
	}
}

// batch returns a batch with its tests. Its client is the first node, or the second one if its name ends in "2".
func (d *daemon) batch(name string) console.Batch {
	b := console.Batch{Name: name, Clients: []console.Node{{ID: at(1)}}, Tests: []console.TestInfo{{Test: console.Test{Loop: 1}}}}
	if strings.HasSuffix(name, "2") {
		b.Clients[0].ID = at(2)
	}
	if d.tests != nil {
		b.Tests = d.tests
	}
	return b
}

// lst runs a command against the daemon.
func (d *daemon) lst(ctx context.Context, t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	socket, err := control.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	serving, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- control.New(control.Config{Routes: d.routes(), Events: new(control.Events)}).Serve(serving, socket)
	}()
	var out, errs bytes.Buffer
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	code = run(ctx, env, append([]string{"--socket", path}, args...))
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return out.String(), errs.String(), code & 255
}

// queryOnce has the nodes answer a query once, after a call of first. Then they are idle.
func (d *daemon) queryOnce(first func(), answers ...console.Answer) {
	var once sync.Once
	d.query = func(context.Context) (list []console.Answer, err error) {
		list = []console.Answer{{ID: at(1)}}
		once.Do(func() {
			first()
			list = answers
		})
		return list, nil
	}
}
