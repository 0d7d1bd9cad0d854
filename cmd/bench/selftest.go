package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// The number of RPCs in a round of each measurement of selftest.
const (
	brwCount  = 1024
	pingCount = 60_000
)

// measureSelftestBulk measures goal G-ST-1: the throughput of BRW tests of 1 MiB between two test
// nodes. It is compared with plain streams of the messages that move the data of these tests: PUTs
// for reads, and GETs for writes, because the server fetches the data of a write.
func measureSelftestBulk(b *measurement) {
	t := b.testNode()
	count := b.some(brwCount)
	stream := func(name string, run func() (time.Duration, error)) *contender { return b.timed(name, count, run) }
	raw := stream("raw", func() (time.Duration, error) { return b.raw.put(bulk, count) })
	put := stream("PUT", func() (time.Duration, error) { return b.node.putStream(b.ctx, count, window) })
	get := stream("GET", func() (time.Duration, error) { return b.node.getStream(b.ctx, count, window) })
	brw := func(name string, op wire.BRWOp) *contender {
		return stream(name, func() (time.Duration, error) {
			return t.run(b.ctx, console.Test{Service: wire.BRWService, BRW: wire.BRWParams{Op: op, Length: bulk, Check: wire.CheckNone}, Concurrency: window}, count)
		})
	}
	read, write := brw("brw read", wire.Read), brw("brw write", wire.Write)
	b.alternate(b.rounds, put, read, get, write, raw)
	b.add(
		read.speed(put, "brw read of 1 MiB, 8 at a time, to PUT streaming", 0.90, mebibytes, "%.2f GiB/s"),
		write.speed(get, "brw write of 1 MiB, 8 at a time, to GET streaming", 0.90, mebibytes, "%.2f GiB/s"),
		read.speed(raw, "brw read, to raw TCP", 0, mebibytes, "%.2f GiB/s"),
		write.speed(raw, "brw write, to raw TCP", 0, mebibytes, "%.2f GiB/s"),
	)
}

// measureSelftestPing measures goal G-ST-2: the rate of PING tests, compared with that of plain PUTs
// that are answered by PUTs, with the same number under way at a time.
func measureSelftestPing(b *measurement) {
	t, c := b.testNode(), b.callersOfNode()
	count := b.some(pingCount)
	ping := b.timed("ping", count, func() (time.Duration, error) {
		return t.run(b.ctx, console.Test{Service: wire.PingService, Concurrency: manyCallers}, count)
	})
	var pairs []*contender
	for _, way := range callWays {
		pairs = append(pairs, b.called(c, way.bits, way.name, manyCallers, count))
	}
	b.alternate(b.rounds, append(pairs, ping)...)
	for _, p := range pairs {
		b.add(ping.speed(p, "lst ping, 64 at a time, to pairs of PUTs "+p.name, 0.5, 1e6, "%.1f k/s"))
	}
}

// testNode is the test node of this process and its console. The other process has a test node,
// too.
type testNode struct {
	own, target nid.ProcessID
	console     *console.Console
	key         uint32 // key of the latest session; each run has a session of its own
}

// testNode makes this process a test node with a console.
func (b *measurement) testNode() *testNode {
	if b.test != nil {
		return b.test
	}
	n := b.node.node
	agent := must(selftest.New(n.table, selftest.Config{}))
	t := &testNode{own: n.id, target: b.node.target, console: must(console.New(n.table, agent, console.Config{}))}
	b.test = t
	b.ends = append(b.ends, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = t.console.Close(ctx) // an error makes no difference: the measurement is over
		_ = agent.Close(ctx)
	})
	return t
}

// run runs a test with count RPCs in a session of its own, and returns how long they took.
func (t *testNode) run(ctx context.Context, test console.Test, count int) (took time.Duration, err error) {
	t.key++
	if _, err := t.console.NewSession(ctx, console.NewSession{Key: t.key, Name: "bench", Features: wire.KnownFeatures}); err != nil {
		return 0, err
	}
	defer func() {
		_, ended := t.console.EndSession(ctx, t.key)
		err = errors.Join(err, ended)
	}()
	test.Batch, test.From, test.To, test.Distribute, test.Span = "b", "from", "to", 1, 1
	test.Loop = int32(max(count/test.Concurrency, 1))
	for _, f := range []func() ([]console.Answer, error){
		func() ([]console.Answer, error) {
			return t.console.AddGroup(ctx, t.key, "from", []nid.ProcessID{t.own})
		},
		func() ([]console.Answer, error) {
			return t.console.AddGroup(ctx, t.key, "to", []nid.ProcessID{t.target})
		},
		func() ([]console.Answer, error) { return nil, t.console.AddBatch(ctx, t.key, "b") },
		func() ([]console.Answer, error) { return t.console.AddTest(ctx, t.key, test) },
	} {
		if err := answered(f()); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	if err := answered(t.console.Run(ctx, t.key, "b", time.Minute)); err != nil {
		return 0, err
	}
	err = t.over(ctx)
	return time.Since(began), err
}

// over waits until the test has ended without an error.
func (t *testNode) over(ctx context.Context) error {
	const pause = 5 * time.Millisecond
	for {
		answers, err := t.console.Query(ctx, t.key, "b", 0, time.Minute)
		if err := answered(answers, err); err != nil {
			return err
		}
		if answers[0].Active > 0 {
			time.Sleep(pause)
			continue
		}
		answers, err = t.console.Stat(ctx, t.key, console.Target{Nodes: []nid.ProcessID{t.own}}, time.Minute)
		if err := answered(answers, err); err != nil {
			return err
		}
		if f := answers[0].Stat.Framework; f.BRWErrors+f.PingErrors > 0 {
			return fmt.Errorf("selftest: %d brw errors, %d ping errors", f.BRWErrors, f.PingErrors)
		}
		return nil
	}
}

// answered returns an error if a node has not done what it was asked to do.
func answered(answers []console.Answer, err error) error {
	for i := range answers {
		if err == nil && !answers[i].OK() {
			err = fmt.Errorf("selftest: %v: %w", answers[i].ID, cmp.Or(answers[i].Failed, answers[i].Status))
		}
	}
	return err
}
