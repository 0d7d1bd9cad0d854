//go:build linux

package replay_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/cmd/lnetd/internal/replay"
	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/recording"
	"ulnet/lnet/selftest/wire"
	lnetwire "ulnet/lnet/wire"
)

// selftestSetting makes lnetd a test node with a console.
const selftestSetting = "selftest: 1"

// test makes lnetd a test node with a console. It takes the place of a recorded test node.
func (r *role) test(t *testing.T, name string, script *replay.Script, side replay.Side) {
	t.Helper()
	r.selftest, r.settings = true, append(slices.Clone(r.settings), selftestSetting)
	own, a := script.Conns[0].Ends[side].Addr(), netip.MustParseAddr("10.88.0.2")
	switch {
	case name == "tcp-lst-console" && own == a:
		withoutKernelAlone(script)
		r.steps = recording.ConsoleSteps()
	case name == "tcp-lst-console":
	case name == "tcp-lst-two-consoles":
		one, two := recording.TwoConsolesSteps()
		if r.steps = one; own != a {
			r.steps = two
		}
	default:
		r.steps = recording.Steps(t, recording.Read(t, find(t, name)), []nid.NID{nid.FromAddr(nid.MustParseNet("tcp"), own)})
	}
	for _, e := range script.Events {
		if e.Record == nil || script.Conns[e.Conn].Ends[e.From].Addr() != own {
			continue
		}
		if m, err := wire.ParseMessage(e.Record.Payload); err == nil && m.Type == wire.TypeStat.Reply() && m.Status == wire.OK {
			r.samples++
		}
	}
	r.samples = max(r.samples-1, 0)
}

// withoutKernelAlone removes from a script the requests that a kernel's console sends and ours does not,
// and the replies to them.
func withoutKernelAlone(script *replay.Script) {
	left := script.Events[:0]
	gone := map[uint64]bool{} // match bits of the replies to the removed requests
	for _, e := range script.Events {
		if r := e.Record; r != nil && r.Kind == capture.Message && r.Header.Type == lnetwire.Put {
			m, err := wire.ParseMessage(r.Payload)
			switch portal := r.Header.Put().Portal; {
			case err == nil && portal == wire.FrameworkPortal && recording.KernelAlone(m.Body):
				gone[m.ReplyID] = true
				continue
			case portal == wire.BulkPortal && gone[r.Header.Put().MatchBits]:
				continue
			}
		}
		left = append(left, e)
	}
	script.Events = left
}

// tester gives the commands of a recorded console to that of lnetd. lnetd itself does what a test
// node does.
type tester struct {
	users   *users
	steps   []recording.Step
	due     chan int      // gets a token whenever the player reaches a recorded request of the console (to wire.FrameworkPortal)
	given   int           // number of tokens that were put into due so far
	done    atomic.Int64  // number of commands that the console has done
	tests   int           // number of recorded requests of tests (to wire.TestPortal) that the player has reached
	stopped chan struct{} // closed when the tests without end have been stopped
	over    chan struct{} // closed after the last command, or one that failed
}

func newTester(u *users, steps []recording.Step) *tester {
	x := &tester{users: u, steps: steps, due: make(chan int, maxOperations), stopped: make(chan struct{}), over: make(chan struct{})}
	if len(steps) > 0 {
		u.run(x.play)
	}
	return x
}

// operate is called when the player reaches a recorded message that the node sends of its own accord.
func (x *tester) operate(m *capture.Record) {
	portal, _ := m.Portal()
	switch portal {
	case wire.FrameworkPortal:
		x.given++
		x.due <- 0
	case wire.TestPortal:
		// The last request of tests without end is on its way, or waits in the socket. While the
		// player waits here it sends no reply, so that the test cannot go on before it is stopped.
		if x.tests++; x.endsAt(x.tests) {
			select {
			case <-x.stopped:
			case <-x.over:
			}
		}
	case lnetwire.PingPortal:
		x.users.operate(m)
	}
}

func (x *tester) endsAt(tests int) bool {
	for i := range x.steps {
		if x.steps[i].Running && x.steps[i].Tests == tests {
			return true
		}
	}
	return false
}

// play gives the commands to the console, one after the other.
func (x *tester) play() error {
	defer close(x.over)
	due, tests, ctx := 0, 0, x.users.ctx
	for i := range x.steps {
		s := &x.steps[i]
		for ; due < s.Due; due++ {
			select {
			case <-x.due:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if s.Tests > tests {
			tests = s.Tests
			if err := x.await(s); err != nil {
				return err
			}
		}
		answers, err := do(ctx, x.users.stage.daemon.Control(), s.Command)
		if s.Running {
			close(x.stopped)
		}
		if err := s.Check(answers, err); err != nil {
			return err
		}
		x.done.Store(int64(i) + 1)
	}
	return nil
}

// commanded waits until the console has done all commands that the recording has before the event that the player does
// next. It does not wait for commands that come after tests: the tests end only after replies of the player, which
// waits here.
func (x *tester) commanded() error {
	due := int64(0)
	for i := range x.steps {
		if x.steps[i].Due <= x.given && x.steps[i].Tests == 0 {
			due = int64(i) + 1
		}
	}
	if !lndtest.Poll(func() bool {
		select {
		case <-x.over:
			return true
		default:
			return x.done.Load() >= due
		}
	}) {
		return fmt.Errorf("the console has done %d commands, and has had %d", x.done.Load(), due)
	}
	return nil
}

// await waits until the node of the console has sent its requests of tests.
func (x *tester) await(s *recording.Step) error {
	sent, calls := 0, 0
	if !lndtest.Poll(func() bool {
		status, err := selftest.OpStatus.Call(x.users.ctx, x.users.stage.daemon.Control(), control.None{})
		sent, calls = int(status.Sent), status.Calls
		return err == nil && sent >= s.Tests && (s.Running || calls == 0)
	}) {
		return fmt.Errorf("the node has sent %d requests of tests, want %d, and %d RPCs are under way", sent, s.Tests, calls)
	}
	return nil
}

// do gives a command to the console of a daemon.
func do(ctx context.Context, c *control.Client, command engine.Command) ([]console.Answer, error) {
	group := func(op control.Command[selftest.GroupRequest, []console.Answer], key uint32, name string, ids []nid.ProcessID) ([]console.Answer, error) {
		return op.Call(ctx, c, selftest.GroupRequest{Key: key, Name: name, Nodes: ids})
	}
	switch d := command.(type) {
	case *engine.NewSession:
		_, err := selftest.OpNewSession.Call(ctx, c, selftest.NewSessionRequest{Key: d.Key, Name: d.Name, Timeout: d.Timeout, Force: d.Force, Features: d.Features})
		return nil, err
	case *engine.EndSession:
		return selftest.OpEndSession.Call(ctx, c, control.None{})
	case *engine.AddGroup:
		return group(selftest.OpAddGroup, d.Key, d.Name, d.IDs)
	case *engine.DeleteGroup:
		return group(selftest.OpDeleteGroup, d.Key, d.Group, nil)
	case *engine.RemoveNodes:
		return group(selftest.OpRemoveNodes, d.Key, d.Group, d.IDs)
	case *engine.RefreshGroup:
		return group(selftest.OpRefreshGroup, d.Key, d.Group, nil)
	case *engine.CleanGroup:
		return selftest.OpCleanGroup.Call(ctx, c, selftest.CleanRequest{Key: d.Key, Name: d.Group, States: d.States})
	case *engine.Ping:
		return selftest.OpPing.Call(ctx, c, selftest.AskRequest{Key: d.Key, Target: d.Target, Timeout: d.Timeout})
	case *engine.Stat:
		return selftest.OpStat.Call(ctx, c, selftest.AskRequest{Key: d.Key, Target: d.Target, Timeout: d.Timeout})
	}
	return doBatch(ctx, c, command)
}

// doBatch does what do does, for the commands about batches.
func doBatch(ctx context.Context, c *control.Client, command engine.Command) ([]console.Answer, error) {
	switch d := command.(type) {
	case *engine.AddBatch:
		return nil, selftest.OpAddBatch.Call(ctx, c, selftest.BatchRequest{Key: d.Key, Batch: d.Name})
	case *engine.AddTest:
		return selftest.OpAddTest.Call(ctx, c, selftest.TestRequest{Key: d.Key, Test: d.Test})
	case *engine.Run:
		return selftest.OpRun.Call(ctx, c, selftest.BatchRequest{Key: d.Key, Batch: d.Batch, Timeout: d.Timeout})
	case *engine.Stop:
		return selftest.OpStop.Call(ctx, c, selftest.BatchRequest{Key: d.Key, Batch: d.Batch, Force: d.Force})
	case *engine.Query:
		return selftest.OpQuery.Call(ctx, c, selftest.BatchRequest{Key: d.Key, Batch: d.Batch, Test: d.Test, Timeout: d.Timeout})
	}
	return nil, fmt.Errorf("the console of lnetd has no command %T", command)
}
