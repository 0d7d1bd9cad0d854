package recording

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
)

// key is the key of the sessions that steps make.
const key = 100

// Step is a command that a recorded console must have got, and when.
type Step struct {
	Due     int            // the step begins at the recorded request of the console with this number, from 1 on
	Tests   int            // if greater than in the step before: the step also waits until the console's node has sent this many test requests
	Running bool           // RPCs of tests are still under way when the step begins; false: they have ended
	Command engine.Command // the command
	Status  syscall.Errno  // status with which all nodes answer
	Stamp   int64          // NewSession: stamp of the session in the recording
}

// process returns the process of a node of LNet.
func process(id nid.NID) nid.ProcessID { return nid.ProcessID{NID: id, PID: nid.LustrePID} }

// Steps returns the commands of the console on the node whose NIDs are self. It is for recordings in
// which the tests of the console have one client, which is the console's own node, with one unit, and one
// server. Kernels number batches over all sessions. So the commands begin with sessions without nodes,
// which use up the numbers of earlier batches.
func Steps(t testing.TB, list []Message, self []nid.NID) []Step {
	t.Helper()
	s := script{self: self, due: 1}
	for i := range list {
		if m := &list[i]; m.IsRequest() && slices.Contains(self, m.From.NID) {
			s.take(t, list[i:])
		}
	}
	return s.steps
}

type script struct {
	self       []nid.NID
	steps      []Step
	batches    uint64 // number of batches that the console has made
	due, tests int
}

func (s *script) add(command engine.Command) *Step {
	s.steps = append(s.steps, Step{Due: s.due, Tests: s.tests, Command: command})
	return &s.steps[len(s.steps)-1]
}

// take adds the commands that lead to the first message of a list.
func (s *script) take(t testing.TB, list []Message) {
	m := list[0].Parse(t)
	switch b := m.Body.(type) {
	case *wire.MakeSession:
		if s.batches == 0 {
			s.earlier(t, list)
		}
		s.add(&engine.NewSession{Key: key, Name: b.Name, Force: b.Force, Features: m.Features}).Stamp = b.Session.Stamp
		s.batches++
		s.add(&engine.AddGroup{Key: key, Name: "clients", IDs: []nid.ProcessID{process(s.self[0])}})
		s.add(&engine.AddGroup{Key: key, Name: "servers", IDs: []nid.ProcessID{list[0].To}})
	case *wire.Test:
		s.add(&engine.AddBatch{Key: key, Name: "b"})
		if s.batches++; s.batches != b.Batch {
			t.Errorf("batch %d is number %d in the recording", s.batches, b.Batch)
		}
		s.add(&engine.AddTest{Key: key, Test: engine.Test{
			Batch: "b", From: "clients", To: "servers", Service: b.Service, Loop: rpcs(list[1:], s.self), Concurrency: int(b.Concurrency), Distribute: 1, Span: 1, BRW: b.BRW,
		}})
		s.add(&engine.Run{Key: key, Batch: "b"})
	case *wire.Stat:
		s.add(&engine.Stat{Key: key, Target: engine.Target{Group: "servers"}})
	case *wire.RemoveSession:
		s.add(&engine.EndSession{Key: key})
	case *wire.Ping, *wire.BRW:
		s.tests++
		return
	}
	s.due++
}

// rpcs returns how many requests of a test the node sends before its next request as a console.
func rpcs(list []Message, self []nid.NID) (count int32) {
	for i := range list {
		m := &list[i]
		switch {
		case !m.IsRequest() || !slices.Contains(self, m.From.NID):
		case m.Portal == wire.FrameworkPortal:
			return count
		default:
			count++
		}
	}
	return count
}

// earlier adds sessions without nodes, of two batches each, so that the batch of the first recorded test
// gets its recorded number: that batch is the second one of its session.
func (s *script) earlier(t testing.TB, list []Message) {
	for i := range list {
		if !list[i].IsRequest() {
			continue
		}
		if b, ok := list[i].Parse(t).Body.(*wire.Test); ok {
			for ; s.batches+2 < b.Batch; s.batches += 2 {
				s.add(&engine.NewSession{Key: key, Name: "earlier", Features: 1})
				s.add(&engine.AddBatch{Key: key, Name: "b"})
				s.add(&engine.EndSession{Key: key})
			}
			return
		}
	}
}

// The nodes of the recordings with a transcript: A and B are consoles and test nodes.
var (
	nodeA = process(nid.MustParse("10.88.0.2@tcp"))
	nodeB = process(nid.MustParse("10.88.0.3@tcp"))
)

// ConsoleSteps returns the commands of the console of tcp-lst-console, 10.88.0.2@tcp, that send something, as its
// transcript has them. The recorded console sends one request more than ours, see KernelAlone.
func ConsoleSteps() []Step {
	ping := engine.Test{Batch: "b1", From: "clients", To: "servers", Service: wire.PingService, Loop: 20, Concurrency: 2, Distribute: 1, Span: 1}
	write, read, forever := ping, ping, ping
	write.Service, write.Loop, write.Concurrency = wire.BRWService, 4, 1
	write.BRW = wire.BRWParams{Op: wire.Write, Check: wire.CheckSimple, Length: 4096}
	read = write
	read.From, read.To, read.Loop = "servers", "clients", 2
	read.BRW = wire.BRWParams{Op: wire.Read, Check: wire.CheckFull, Length: 16384}
	forever.Batch, forever.Loop, forever.Concurrency = "b2", -1, 1
	s := &script{}
	// send adds commands of which the last one sends a request to the other node.
	send := func(commands ...engine.Command) {
		s.due++
		for _, c := range commands {
			s.add(c)
		}
	}
	const b1, b2 = "b1", "b2"
	query := &engine.Query{Key: key, Batch: b1}
	send(
		&engine.NewSession{Key: key, Name: "first", Timeout: 100 * time.Second, Features: 1},
		&engine.AddGroup{Key: key, Name: "clients", IDs: []nid.ProcessID{nodeA}}, &engine.AddGroup{Key: key, Name: "servers", IDs: []nid.ProcessID{nodeB}},
	)
	s.steps[0].Stamp = 354193
	send(&engine.AddGroup{Key: key, Name: "both", IDs: []nid.ProcessID{nodeA, nodeB}}, &engine.Ping{Key: key, Target: engine.Target{Group: "both"}})
	send(&engine.Ping{Key: key, Target: engine.Target{Nodes: []nid.ProcessID{nodeB}}})
	send(&engine.AddBatch{Key: key, Name: b1}, &engine.AddTest{Key: key, Test: ping})
	for _, c := range []engine.Command{
		&engine.AddTest{Key: key, Test: write}, &engine.AddTest{Key: key, Test: read},
		query, &engine.Stop{Key: key, Batch: b1}, query, &engine.Run{Key: key, Batch: b1},
	} {
		send(c)
	}
	s.tests = 40 + 4
	for range 4 {
		send(query)
	}
	send(&engine.Query{Key: key, Batch: b1, Test: 1}, &engine.Query{Key: key, Batch: b1, Test: 2}, &engine.Stop{Key: key, Batch: b1})
	send(query)
	for i := range 10 {
		group := "servers"
		if i == 1 {
			group = "both"
		}
		send(&engine.Stat{Key: key, Target: engine.Target{Group: group}})
	}
	send(
		&engine.AddBatch{Key: key, Name: b2}, &engine.AddTest{Key: key, Test: forever},
		&engine.Run{Key: key, Batch: b2}, &engine.Query{Key: key, Batch: b2}, &engine.Run{Key: key, Batch: b2},
	)
	s.tests += 251
	s.add(&engine.Stop{Key: key, Batch: b2}).Running = true
	send(
		&engine.Query{Key: key, Batch: b2}, &engine.RemoveNodes{Key: key, Group: "both", IDs: []nid.ProcessID{nodeA}},
		&engine.RefreshGroup{Key: key, Group: "both"}, &engine.CleanGroup{Key: key, Group: "both", States: []engine.State{engine.Busy}},
		&engine.DeleteGroup{Key: key, Group: "both"}, &engine.EndSession{Key: key},
	)
	return s.steps
}

// KernelAlone reports whether a request of the recorded console of tcp-lst-console is one that ours
// does not send: a kernel adds the server of a test before it refuses the client (selftest §10: span > ndst
// → error), ours refuses first.
func KernelAlone(body wire.Body) bool {
	test, ok := body.(*wire.Test)
	return ok && test.Service == wire.PingService && test.Batch == 2 && test.Concurrency == 1
}

// TwoConsolesSteps returns the commands of both consoles of tcp-lst-two-consoles that send
// something, as their transcript has them: those of A, and those of B, which takes the nodes by
// force.
func TwoConsolesSteps() (a, b []Step) {
	both, all, groupA := []nid.ProcessID{nodeA, nodeB}, engine.Target{Group: "all"}, engine.Target{Group: "a"}
	a = []Step{
		{Due: 1, Command: &engine.NewSession{Key: key, Name: "one", Timeout: time.Minute, Features: 1}, Stamp: 677414},
		{Due: 1, Command: &engine.AddGroup{Key: key, Name: "all", IDs: both}},
		{Due: 2, Command: &engine.Ping{Key: key, Target: all}},
		{Due: 3, Command: &engine.Stat{Key: key, Target: all}, Status: syscall.ESRCH},
		{Due: 4, Command: &engine.Stat{Key: key, Target: all}, Status: syscall.ESRCH},
		{Due: 4, Command: &engine.EndSession{Key: key}},
	}
	b = []Step{
		{Due: 1, Command: &engine.NewSession{Key: key, Name: "two", Timeout: time.Minute, Features: 1}, Stamp: 2235420},
		{Due: 1, Command: &engine.AddGroup{Key: key, Name: "a", IDs: both[:1]}, Status: syscall.EBUSY},
		{Due: 1, Command: &engine.DeleteGroup{Key: key, Group: "a"}},
		{Due: 1, Command: &engine.AddGroup{Key: key, Name: "b", IDs: both[1:]}, Status: syscall.EBUSY},
		{Due: 1, Command: &engine.DeleteGroup{Key: key, Group: "b"}},
		{Due: 2, Command: &engine.Ping{Key: key, Target: engine.Target{Nodes: both}}},
		{Due: 2, Command: &engine.EndSession{Key: key}},
		{Due: 3, Command: &engine.NewSession{Key: key, Name: "two", Timeout: time.Minute, Force: true, Features: 1}, Stamp: 2238231},
		{Due: 3, Command: &engine.AddGroup{Key: key, Name: "a", IDs: both}},
		{Due: 4, Command: &engine.Ping{Key: key, Target: groupA}},
		{Due: 5, Command: &engine.EndSession{Key: key}},
	}
	return a, b
}
