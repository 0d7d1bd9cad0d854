package quick

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// fake is a console whose nodes need no network: each pair has a rate, and counters follow the
// clock of the test. Like those of nodes, its units send one RPC after the other, and end at the first that fails.
type fake struct {
	rate    func(from, to nid.ProcessID) float64 // RPCs of a pair per second
	dead    map[nid.ProcessID]time.Time          // time at which each of these nodes stops answering
	busy    map[nid.ProcessID]bool               // nodes that are in the session of another console
	refuses map[nid.ProcessID]bool               // nodes that refuse tests
	errors  map[nid.ProcessID]uint32             // number of RPCs that fail at a client in each interval
	early   map[nid.ProcessID]uint32             // number of RPCs that fail at a client before Run returns
	late    map[nid.ProcessID]uint32             // number of RPCs that fail at a client after Stop was called
	// stumble reports whether the units of a pair, which have run for the time since, all fail now. Nil: they do not.
	stumble func(from, to nid.ProcessID, since time.Duration) bool
	fail    map[string]error // errors that commands return, by the names of the commands
	stop    time.Duration    // how long Stop waits for a client
	linger  time.Duration    // how long the RPCs under way take to end after a Stop without force

	began   time.Time
	groups  map[string][]nid.ProcessID
	tests   map[string]console.Test
	sent    map[nid.ProcessID]float64
	failed  map[nid.ProcessID]uint32
	units   map[nid.ProcessID]uint32 // number of units that a client runs
	running string
	since   time.Time
	started time.Time // when Run was called
	stopped time.Time // when Stop without force was called
	kills   int       // number of Stops by force
	ended   int
	forced  bool
	most    int // largest number of pairs under way at a time
	node    func(nid.ProcessID) nid.NID
	shared  int // how often a node has been in two pairs of a batch
}

func newFake(rate func(from, to nid.ProcessID) float64) *fake {
	return &fake{
		rate: rate, dead: map[nid.ProcessID]time.Time{}, busy: map[nid.ProcessID]bool{}, refuses: map[nid.ProcessID]bool{},
		errors: map[nid.ProcessID]uint32{}, early: map[nid.ProcessID]uint32{}, late: map[nid.ProcessID]uint32{}, units: map[nid.ProcessID]uint32{}, fail: map[string]error{},
		groups: map[string][]nid.ProcessID{}, tests: map[string]console.Test{}, sent: map[nid.ProcessID]float64{}, failed: map[nid.ProcessID]uint32{},
	}
}

// answers makes the answers of nodes to a command. Dead nodes do not answer; the function change, if not nil,
// completes the answer of each other node.
func (f *fake) answers(ids []nid.ProcessID, change func(*console.Answer)) (list []console.Answer) {
	for _, id := range ids {
		a := console.Answer{ID: id}
		if at, dies := f.dead[id]; dies && !time.Now().Before(at) {
			a.Failed = syscall.ETIMEDOUT
		} else if change != nil {
			change(&a)
		}
		list = append(list, a)
	}
	return list
}

func (f *fake) NewSession(_ context.Context, n console.NewSession) (console.Session, error) {
	f.began, f.forced = time.Now(), n.Force
	f.groups, f.tests = map[string][]nid.ProcessID{}, map[string]console.Test{}
	return console.Session{Name: n.Name, Key: n.Key}, f.fail["session"]
}

// EndSession sends nothing if ctx has ended, as the console does.
func (f *fake) EndSession(ctx context.Context, _ uint32) ([]console.Answer, error) {
	if ctx.Err() == nil {
		f.ended++
		f.settle()
		f.running = ""
	}
	return nil, ctx.Err()
}

func (f *fake) AddGroup(_ context.Context, _ uint32, name string, ids []nid.ProcessID) ([]console.Answer, error) {
	if f.groups[name] != nil {
		return nil, syscall.EEXIST
	}
	if len(f.tests) > 64 {
		return nil, syscall.ENOSPC
	}
	f.groups[name] = slices.Clone(ids)
	return f.answers(ids, func(a *console.Answer) {
		if f.busy[a.ID] && !f.forced {
			a.Status, a.Name = syscall.EBUSY, "other"
		}
	}), f.fail["group"]
}

func (f *fake) AddBatch(context.Context, uint32, string) error { return f.fail["batch"] }

func (f *fake) AddTest(_ context.Context, _ uint32, t console.Test) ([]console.Answer, error) {
	f.tests[t.Batch] = t
	list := f.answers(f.groups[t.To], func(a *console.Answer) {
		if f.refuses[a.ID] {
			a.Status = syscall.ENOMEM
		}
	})
	if !slices.ContainsFunc(list, func(a console.Answer) bool { return !a.OK() }) {
		list = append(list, f.answers(f.groups[t.From], nil)...)
	}
	return list, nil
}

// settle adds to the counters what the clients have sent since the previous call.
func (f *fake) settle() {
	t, ok := f.tests[f.running]
	elapsed := time.Since(f.since).Seconds()
	f.since = time.Now()
	if !ok || f.running == "" {
		return
	}
	from, to := f.groups[t.From], f.groups[t.To]
	f.most = max(f.most, len(from))
	for i, id := range from {
		f.sent[id] += f.rate(id, to[i%len(to)]) * elapsed * float64(f.units[id]) / float64(t.Concurrency)
		f.failRPCs(id, f.errors[id])
		if f.stumble != nil && f.stumble(id, to[i%len(to)], time.Since(f.started)) {
			f.failRPCs(id, f.units[id])
		}
	}
}

// share counts nodes that a batch has twice.
func (f *fake) share(batch string) {
	seen := map[nid.NID]bool{}
	for _, id := range slices.Concat(f.groups[f.tests[batch].From], f.groups[f.tests[batch].To]) {
		if f.node == nil {
			continue
		}
		if seen[f.node(id)] {
			f.shared++
		}
		seen[f.node(id)] = true
	}
}

// failRPCs lets an RPC of some units of a client fail, which ends these units.
func (f *fake) failRPCs(client nid.ProcessID, units uint32) {
	units = min(units, f.units[client])
	f.failed[client] += units
	f.units[client] -= units
}

func (f *fake) Run(_ context.Context, _ uint32, batch string, _ time.Duration) ([]console.Answer, error) {
	f.settle()
	f.running, f.started = batch, time.Now()
	f.share(batch)
	t := f.tests[batch]
	for _, id := range f.groups[t.From] {
		f.sent[id] += float64(t.Concurrency) // each test unit sends its first RPC at once
		f.units[id] = uint32(t.Concurrency)
		f.failRPCs(id, f.early[id])
	}
	return f.answers(f.groups[f.tests[batch].From], nil), f.fail["run"]
}

func (f *fake) Stop(ctx context.Context, _ uint32, batch string, force bool) ([]console.Answer, error) {
	select {
	case <-time.After(f.stop):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.settle()
	if batch != f.running {
		return nil, fmt.Errorf("stop %q while %q is running", batch, f.running)
	}
	if force {
		f.kills++
		f.halt()
	} else if f.stopped = time.Now(); f.linger == 0 {
		f.halt()
	}
	return f.answers(f.groups[f.tests[batch].From], nil), ctx.Err()
}

// halt ends the units of the batch that runs.
func (f *fake) halt() {
	for _, id := range f.groups[f.tests[f.running].From] {
		f.failRPCs(id, f.late[id])
	}
	f.running, f.stopped = "", time.Time{}
}

func (f *fake) Query(_ context.Context, _ uint32, batch string, _ int, _ time.Duration) ([]console.Answer, error) {
	if !f.stopped.IsZero() && time.Since(f.stopped) >= f.linger {
		f.halt()
	}
	return f.answers(f.groups[f.tests[batch].From], func(a *console.Answer) {
		if f.running == batch {
			a.Active = 1
		}
	}), f.fail["query"]
}

func (f *fake) Stat(_ context.Context, _ uint32, target console.Target, _ time.Duration) ([]console.Answer, error) {
	f.settle()
	return f.answers(target.Nodes, func(a *console.Answer) {
		a.Stat = &wire.StatReply{Framework: wire.FrameworkStats{
			Running: uint32(time.Since(f.began).Milliseconds() + 1), BRWErrors: f.failed[a.ID],
		}, RPC: wire.RPCStats{Sent: uint32(uint64(f.sent[a.ID]) + 1<<32 - 500)}} // begins 500 below 2^32, so that the counter wraps after 500 RPCs
	}), f.fail["stat"]
}

// hosts returns the processes on hosts.
func hosts(numbers ...int) (list []nid.ProcessID) {
	for _, n := range numbers {
		id, err := nid.Parse(fmt.Sprintf("10.0.0.%d@tcp", n))
		if err != nil {
			panic(err)
		}
		list = append(list, nid.ProcessID{NID: id, PID: nid.LustrePID})
	}
	return list
}
