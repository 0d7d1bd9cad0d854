package engine_test

import (
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
)

// The nodes of the second set of recordings: A and B are consoles and test nodes.
var (
	nodeA = process("10.88.0.2@tcp")
	nodeB = process("10.88.0.3@tcp")
)

func process(text string) nid.ProcessID {
	return nid.ProcessID{NID: nid.MustParse(text), PID: nid.LustrePID}
}

// wantAll runs commands of the session with key 100 at A, which succeed.
func (r *replay) wantAll(commands ...engine.Command) {
	r.t.Helper()
	for _, c := range commands {
		r.want(nodeA.NID, c, 0)
	}
}

// TestReplayConsole gives our console the commands of one recorded session, as the transcript has them,
// including those that the recorded console refused.
func TestReplayConsole(t *testing.T) {
	spec.Covers(t, "ST-22")
	const key = 100
	r := openReplay(t, shared+"captures2/tcp-lst-console.pcap.gz", nodeA.NID)
	r.now = earlier
	ping := engine.Test{Batch: "b1", From: "clients", To: "servers", Service: wire.PingService, Loop: 20, Concurrency: 2, Distribute: 1, Span: 1}
	write, read, refused := ping, ping, ping
	write.Service, write.Loop, write.Concurrency = wire.BRWService, 4, 1
	write.BRW = wire.BRWParams{Op: wire.Write, Check: wire.CheckSimple, Length: 4096}
	read = write
	read.From, read.To, read.Loop = "servers", "clients", 2
	read.BRW = wire.BRWParams{Op: wire.Read, Check: wire.CheckFull, Length: 16384}
	both, servers := engine.Target{Group: "both"}, engine.Target{Group: "servers"}

	r.wantAll(
		&engine.NewSession{Key: key, Name: "first", Timeout: 100 * time.Second, Features: 1},
		&engine.AddGroup{Key: key, Name: "clients", IDs: []nid.ProcessID{nodeA}},
		&engine.AddGroup{Key: key, Name: "servers", IDs: []nid.ProcessID{nodeB}},
	)
	r.want(nodeA.NID, &engine.AddGroup{Key: key, Name: "servers", IDs: []nid.ProcessID{nodeB}}, syscall.EEXIST)
	r.wantAll(
		&engine.AddGroup{Key: key, Name: "both", IDs: []nid.ProcessID{nodeA, nodeB}},
		&engine.Ping{Key: key, Target: both},
		&engine.Ping{Key: key, Target: engine.Target{Nodes: []nid.ProcessID{nodeB}}},
		&engine.AddBatch{Key: key, Name: "b1"},
	)
	r.want(nodeA.NID, &engine.AddBatch{Key: key, Name: "b1"}, syscall.EEXIST)
	r.wantAll(&engine.AddTest{Key: key, Test: ping}, &engine.AddTest{Key: key, Test: write}, &engine.AddTest{Key: key, Test: read})
	refused.From = "nosuch"
	r.want(nodeA.NID, &engine.AddTest{Key: key, Test: refused}, syscall.ENOENT)
	refused = ping
	refused.Batch = "nosuch"
	r.want(nodeA.NID, &engine.AddTest{Key: key, Test: refused}, syscall.ENOENT)
	refused = ping
	refused.Concurrency, refused.Span = 1, 2
	r.want(nodeA.NID, &engine.AddTest{Key: key, Test: refused}, syscall.EINVAL)
	r.kernelAlone(&wire.Test{Service: wire.PingService, Batch: 2, Loop: 1, Concurrency: 1, StopOnError: true}) // a kernel adds the server of this test before it refuses the client
	r.want(nodeA.NID, &engine.Query{Key: key, Batch: "b1"}, 0)
	r.want(nodeA.NID, &engine.Run{Key: key, Batch: "nosuch"}, syscall.ENOENT)
	r.wantAll(
		&engine.Stop{Key: key, Batch: "b1"}, &engine.Query{Key: key, Batch: "b1"},
		&engine.Run{Key: key, Batch: "b1"},
		&engine.Query{Key: key, Batch: "b1"}, &engine.Query{Key: key, Batch: "b1"},
		&engine.Query{Key: key, Batch: "b1"}, &engine.Query{Key: key, Batch: "b1"},
		&engine.Query{Key: key, Batch: "b1", Test: 1}, &engine.Query{Key: key, Batch: "b1", Test: 2},
	)
	r.want(nodeA.NID, &engine.Query{Key: key, Batch: "nosuch"}, syscall.ENOENT)
	r.wantAll(
		&engine.Stop{Key: key, Batch: "b1"}, &engine.Query{Key: key, Batch: "b1"},
		&engine.Stat{Key: key, Target: servers}, &engine.Stat{Key: key, Target: both},
	)
	for range 4 {
		r.wantAll(&engine.Stat{Key: key, Target: servers}, &engine.Stat{Key: key, Target: servers})
	}
	r.want(nodeA.NID, &engine.Stat{Key: key, Target: engine.Target{Group: "nosuch"}}, syscall.ENOENT)
	ping.Batch, ping.Loop, ping.Concurrency = "b2", -1, 1
	r.wantAll(
		&engine.AddBatch{Key: key, Name: "b2"}, &engine.AddTest{Key: key, Test: ping},
		&engine.Run{Key: key, Batch: "b2"}, &engine.Query{Key: key, Batch: "b2"}, &engine.Run{Key: key, Batch: "b2"},
		&engine.Stop{Key: key, Batch: "b2"}, &engine.Query{Key: key, Batch: "b2"},
		&engine.RemoveNodes{Key: key, Group: "both", IDs: []nid.ProcessID{nodeA}},
		&engine.RefreshGroup{Key: key, Group: "both"},
		&engine.CleanGroup{Key: key, Group: "both", States: []engine.State{engine.Busy}},
	)
	r.want(nodeA.NID, &engine.DeleteGroup{Key: key, Group: "servers"}, syscall.EBUSY)
	r.wantAll(&engine.DeleteGroup{Key: key, Group: "both"})
	r.want(nodeA.NID, &engine.DeleteGroup{Key: key, Group: "nosuch"}, syscall.ENOENT)
	r.wantAll(&engine.EndSession{Key: key})
	r.over(nodeA.NID)
	r.want(nodeA.NID, &engine.AddGroup{Key: key, Name: "dead"}, syscall.ESRCH)
}

// kernelAlone passes over a request that the recorded console sends and ours does not.
func (r *replay) kernelAlone(want *wire.Test) {
	r.t.Helper()
	m := r.requests[nodeA.NID][0].message(r.t)
	got, ok := m.Body.(*wire.Test)
	if ok {
		want.Session = got.Session
	}
	if !ok || *got != *want {
		r.t.Errorf("%+v, want %+v", m.Body, want)
	}
	r.requests[nodeA.NID] = r.requests[nodeA.NID][1:]
}

// TestReplayTwoConsoles: two consoles compete for two nodes; the second one takes them by force.
func TestReplayTwoConsoles(t *testing.T) {
	spec.Covers(t, "ST-22")
	r := openReplay(t, shared+"captures2/tcp-lst-two-consoles.pcap.gz", nodeA.NID, nodeB.NID)
	a, b := nodeA.NID, nodeB.NID
	minute := time.Minute
	both, all, groupA := []nid.ProcessID{nodeA, nodeB}, engine.Target{Group: "all"}, engine.Target{Group: "a"}
	r.now = earlier
	r.want(a, &engine.NewSession{Key: 1, Name: "one", Timeout: minute, Features: 1}, 0)
	r.want(a, &engine.AddGroup{Key: 1, Name: "all", IDs: both}, 0)
	r.want(b, &engine.NewSession{Key: 2, Name: "two", Timeout: minute, Features: 1}, 0)
	for i, id := range both {
		name := []string{"a", "b"}[i]
		got := r.want(b, &engine.AddGroup{Key: 2, Name: name, IDs: []nid.ProcessID{id}}, 0).Answers
		if len(got) != 1 || got[0].Status != syscall.EBUSY || got[0].Name != "one" || got[0].State != engine.Busy {
			t.Errorf("%+v", got)
		}
		r.want(b, &engine.DeleteGroup{Key: 2, Group: name}, 0)
	}
	for _, got := range r.want(b, &engine.Ping{Key: 2, Target: engine.Target{Nodes: both}}, 0).Answers {
		if got.State != engine.Busy || got.Name != "one" || got.Session.Console != a || got.Status != 0 {
			t.Errorf("%+v", got)
		}
	}
	r.want(b, &engine.Ping{Key: 2, Target: groupA}, syscall.ENOENT)
	r.want(b, &engine.AddBatch{Key: 2, Name: "bt"}, 0)
	test := engine.Test{Batch: "bt", From: "a", To: "b", Service: wire.PingService, Loop: -1, Concurrency: 1, Distribute: 1, Span: 1}
	r.want(b, &engine.AddTest{Key: 2, Test: test}, syscall.ENOENT)
	r.want(b, &engine.Run{Key: 2, Batch: "bt"}, 0)
	r.want(b, &engine.EndSession{Key: 2}, 0)

	r.now += 2811 * time.Millisecond // the stamps of the two recorded sessions of B differ by this much
	r.want(b, &engine.NewSession{Key: 2, Name: "two", Timeout: minute, Force: true, Features: 1}, 0)
	r.want(b, &engine.AddGroup{Key: 2, Name: "a", IDs: both}, 0)
	for _, got := range r.want(a, &engine.Ping{Key: 1, Target: all}, 0).Answers {
		if got.State != engine.Busy || got.Name != "two" || got.Session.Console != b {
			t.Errorf("%+v", got)
		}
	}
	if g, err := r.consoles[a].Group("all"); err != nil || g.Counts != (engine.Counts{Busy: 2, Total: 2}) {
		t.Errorf("%+v, %v", g, err)
	}
	r.want(a, &engine.AddBatch{Key: 1, Name: "bt"}, 0)
	test.From, test.To = "all", "all"
	r.want(a, &engine.AddTest{Key: 1, Test: test}, syscall.EINVAL)
	for range 2 {
		for _, got := range r.want(a, &engine.Stat{Key: 1, Target: all}, 0).Answers {
			if got.Status != syscall.ESRCH || got.Stat != nil {
				t.Errorf("%+v", got)
			}
		}
	}
	r.want(a, &engine.EndSession{Key: 1}, 0)
	r.want(b, &engine.Ping{Key: 2, Target: groupA}, 0)
	r.want(b, &engine.EndSession{Key: 2}, 0)
	r.over(a)
	r.over(b)
	for id, n := range r.nodes {
		if got := n.Stats().Session; got != wire.NoSession() {
			t.Errorf("%v has the session %v", id, got)
		}
	}
}

// TestReplayNoSelftest: the recorded node drops the request, as it has no selftest. It is Down
// once the console has waited.
func TestReplayNoSelftest(t *testing.T) {
	spec.Covers(t, "ST-22")
	a, b := process("10.77.0.10@tcp"), process("10.77.0.11@tcp")
	r := openReplay(t, shared+"tcp-err-put-noportal.pcap", a.NID)
	name := r.requests[a.NID][0].message(t).Body.(*wire.MakeSession).Name
	r.now = earlier
	r.want(a.NID, &engine.NewSession{Key: 1, Name: name, Features: 1}, 0)
	r.commands++
	r.step(a.NID, engine.Input{Kind: engine.Do, ID: r.commands, Command: &engine.AddGroup{Key: 1, Name: "g", IDs: []nid.ProcessID{b}}, Self: a.NID})
	if _, ok := r.answer[r.commands]; ok {
		t.Error("the console does not wait")
	}
	r.now += 30 * time.Second
	r.step(a.NID, engine.Input{})
	got, ok := r.answer[r.commands]
	if len(got.Result.Answers) != 1 || !ok || got.Result.Answers[0].State != engine.Down || got.Result.Answers[0].Failed != syscall.ETIMEDOUT {
		t.Errorf("%+v", got)
	}
	r.over(a.NID)
	if r.compared != 1 {
		t.Errorf("%d requests were compared", r.compared)
	}
}
