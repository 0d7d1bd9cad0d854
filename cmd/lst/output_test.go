package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// at returns the process ID of a node with a number, for tests.
func at(number uint32) nid.ProcessID {
	return nid.ProcessID{NID: nid.FromNumber(nid.MustParseNet("gni"), number), PID: nid.LustrePID}
}

// TestFailures: for the exit code, a node without an answer takes precedence over a node that refuses.
func TestFailures(t *testing.T) {
	spec.Covers(t, "ST-43")
	fine, refused := console.Answer{ID: at(1)}, console.Answer{ID: at(2), Status: syscall.EBUSY}
	lost := console.Answer{ID: at(3), Failed: syscall.EHOSTUNREACH}
	for _, c := range []struct {
		answers []console.Answer
		want    int
	}{
		{nil, 0},
		{[]console.Answer{fine}, 0},
		{[]console.Answer{refused, fine}, nodeError},
		{[]console.Answer{refused, lost, fine}, rpcError},
	} {
		if got := codeOf(c.answers); got != c.want {
			t.Errorf("%v: %d", c.answers, got)
		}
	}
	var b strings.Builder
	if err := printFailures(&b, []console.Answer{fine, refused, lost}, "create session"); err != nil {
		t.Fatal(err)
	}
	const want = "operation create session failed on 12345-2@gni: Device or resource busy\ncreate session RPC failed on 12345-3@gni: Unknown error -113\n"
	if b.String() != want {
		t.Errorf("%q", b.String())
	}
	const explained = "ping RPC failed on 12345-3@gni: Unknown error -113 (No route to host)"
	if got := failureLine(&lost, "ping", true); got != explained {
		t.Errorf("on a terminal: %q", got)
	}
}

// TestTally: the output of a query has the words of Lustre's tool, whatever the nodes have answered.
func TestTally(t *testing.T) {
	idle, running := console.Answer{}, console.Answer{Active: 2}
	refused, lost := console.Answer{Status: syscall.ESRCH}, console.Answer{Failed: syscall.ETIMEDOUT}
	for _, c := range []struct {
		answers []console.Answer
		want    string
	}{
		{nil, "is stopped"},
		{[]console.Answer{idle, idle}, "is stopped"},
		{[]console.Answer{running, running}, "is running"},
		{[]console.Answer{running, idle}, "stopped: 1 , running: 1, failed: 0"},
		{[]console.Answer{idle, refused}, "stopped: 1 , running: 0, failed: 1"},
		{[]console.Answer{running, lost}, "1 of 2 nodes are unknown, stopped: 0 , running: 1, failed: 0"},
	} {
		if got := tally(c.answers).String(); got != c.want {
			t.Errorf("%v: %s, want %s", c.answers, got, c.want)
		}
	}
}

// TestQueryNodes: the options of query choose clients by what they answer.
func TestQueryNodes(t *testing.T) {
	answers := []console.Answer{
		{ID: at(1), State: console.Active},
		{ID: at(2), State: console.Active, Active: 1},
		{ID: at(3), State: console.Busy, Status: syscall.ESRCH},
		{ID: at(4), State: console.Down, Failed: syscall.ETIMEDOUT},
	}
	const idle, running = "12345-1@gni [Active]: Idle\n", "12345-2@gni [Active]: Running\n"
	const refused, lost = "12345-3@gni [Busy]: Idle\n", "12345-4@gni [Down]: Timeout\n"
	for _, c := range []struct {
		q    query
		want string
	}{
		{query{all: true}, idle + running + refused + lost},
		{query{active: true}, running},
		{query{idle: true}, idle},
		{query{errors: true}, refused},
		{query{active: true, idle: true}, idle + running},
	} {
		var b strings.Builder
		if c.q.printNodes(&b, answers); b.String() != c.want {
			t.Errorf("%+v: %q", c.q, b.String())
		}
	}
}

// TestStatView: options choose rates or bandwidths, directions and values.
func TestStatView(t *testing.T) {
	traffic := console.Traffic{
		Nodes: 1, Received: console.Figure{Avg: 3, Min: 2, Max: 4}, Sent: console.Figure{Avg: 30, Min: 20, Max: 12345678},
		ReceivedBytes: console.Figure{Avg: 3 << 20, Min: 2 << 20, Max: 4 << 20}, SentBytes: console.Figure{Avg: 5e6},
	}
	for _, c := range []struct {
		view statView
		want string
	}{
		{statView{}, `[LNet Rates of g]
[R] Avg: 3        RPC/s Min: 2        RPC/s Max: 4        RPC/s
[W] Avg: 30       RPC/s Min: 20       RPC/s Max: 12345678 RPC/s
[LNet Bandwidth of g]
[R] Avg: 3.00     MiB/s Min: 2.00     MiB/s Max: 4.00     MiB/s |
[W] Avg: 4.77     MiB/s Min: 0.00     MiB/s Max: 0.00     MiB/s |
`},
		{statView{rate: true, bandwidth: true, read: true, write: true, avg: true}, `[LNet Rates of g]
[R] Avg: 3        RPC/s |
[W] Avg: 30       RPC/s |
[LNet Bandwidth of g]
[R] Avg: 3.00     MiB/s |
[W] Avg: 4.77     MiB/s |
`},
		{statView{rate: true, read: true, max: true}, "[LNet Rates of g]\n[W] Max: 12345678 RPC/s\n"},
		{statView{bandwidth: true, write: true, min: true, mbs: true}, "[LNet Bandwidth of g]\n[R] Min: 2.10     MB/s  |\n"},
		{statView{rpc: true}, ""},
		{statView{rpc: true, lnet: true, rate: true, write: true, min: true}, "[LNet Rates of g]\n[R] Min: 2        RPC/s |\n"},
	} {
		var b strings.Builder
		if err := c.view.print(&b, "g", &traffic); err != nil {
			t.Fatal(err)
		}
		if want := strings.ReplaceAll(c.want, "|", ""); b.String() != want {
			t.Errorf("%+v:\n%s, want\n%s", c.view, b.String(), want)
		}
	}
}

// statOf returns the answer of a node whose counters have run for the given number of milliseconds
// and have counted the given messages and bytes as received.
func statOf(id uint32, running, messages uint32, bytes uint64) console.Answer {
	s := &wire.StatReply{}
	s.Framework.Running = running
	s.LNet.Received, s.LNet.ReceivedBytes = messages, bytes
	return console.Answer{ID: at(id), Stat: s}
}

// TestStatTarget: rates need two answers of a node. Nodes that do not answer are counted, and
// their earlier values are forgotten.
func TestStatTarget(t *testing.T) {
	target := &statTarget{name: "g"}
	when := time.Unix(1000, 0)
	target.take([]console.Answer{statOf(1, 1000, 10, 0), statOf(2, 5000, 20, 1<<20)}, when)
	if target.rates.Nodes != 0 || len(target.nodes) != 0 {
		t.Errorf("%+v of one answer", target.rates)
	}
	target.take([]console.Answer{statOf(1, 2000, 14, 0), {ID: at(2), Failed: syscall.ETIMEDOUT}}, when.Add(time.Second))
	if target.failed != 1 || target.code != rpcError || len(target.nodes) != 1 || target.nodes[0].Received != 4 {
		t.Errorf("%+v", target)
	}
	target.take([]console.Answer{statOf(1, 4000, 14, 1<<20), statOf(2, 7000, 20, 1<<20)}, when.Add(3*time.Second))
	if target.failed != 0 || len(target.nodes) != 1 || target.nodes[0].ReceivedBytes != 1<<19 || len(target.course.of) != 1 || len(target.course.of[at(1)]) != 2 {
		t.Errorf("%+v", target)
	}
	for range 2 * remembered {
		target.course.add(target.nodes)
	}
	if n := len(target.course.of[at(1)]); n != remembered {
		t.Errorf("%d values", n)
	}
	table := new(strings.Builder)
	if err := (&stat{}).table(target).Print(table); err != nil || !strings.Contains(table.String(), "1@gni") || !strings.Contains(table.String(), "0.50     "+strings.Repeat("█", remembered)) {
		t.Errorf("%v\n%s", err, table)
	}
}

// TestSparkline: the greatest value has the highest bar, and none has a bar if all are 0.
func TestSparkline(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{nil, ""}, {[]float64{0, 0}, "▁▁"}, {[]float64{1, 2, 4, 8}, "▂▃▅█"}, {[]float64{-1, 5}, "▁█"},
	} {
		if got := sparkline(c.values); got != c.want {
			t.Errorf("%v: %s, want %s", c.values, got, c.want)
		}
	}
}

// TestBadNodes: nodes have errors if a counter is not 0, or if their counters are not known.
func TestBadNodes(t *testing.T) {
	good, failing, network := statOf(1, 0, 0, 0), statOf(2, 0, 0, 0), statOf(3, 0, 0, 0)
	failing.Stat.Framework.BRWErrors, failing.Stat.Framework.PingErrors = 2, 3
	network.Stat.RPC.Errors, network.Stat.RPC.Dropped, network.Stat.RPC.Expired = 4, 5, 6
	answers := []console.Answer{good, failing, network, {ID: at(4), Failed: syscall.ETIMEDOUT}, {ID: at(5), Status: syscall.ESRCH}}
	text := func(session bool) string {
		var b strings.Builder
		for _, bad := range badNodes(answers, session) {
			b.WriteString(bad.line(session) + "\n")
		}
		return b.String()
	}
	const unknown = "RPC failure, can't show error on 12345-4@gni\nFramework failure, can't show error on 12345-5@gni\n"
	if got := text(false); got != "12345-2@gni: [Session 2 brw errors, 3 ping errors] [RPC: 0 errors, 0 dropped, 0 expired]\n"+
		"12345-3@gni: [Session 0 brw errors, 0 ping errors] [RPC: 4 errors, 5 dropped, 6 expired]\n"+unknown {
		t.Errorf("all errors:\n%s", got)
	}
	if got := text(true); got != "12345-2@gni: [Session 2 brw errors, 3 ping errors]\n"+unknown {
		t.Errorf("errors of the session:\n%s", got)
	}
}

// TestExpected: the expected number of RPCs of a batch follows from its tests. A test that runs
// without end is refused.
func TestExpected(t *testing.T) {
	spec.Covers(t, "ST-45")
	one := console.TestInfo{Test: console.Test{Loop: 10, Concurrency: 2, Span: 3}, ClientCounts: console.Counts{Total: 4}}
	b := console.Batch{Name: "b", Tests: []console.TestInfo{one, one}}
	if n, err := expected(&b); n != 480 || err != nil {
		t.Error(n, err)
	}
	b.Tests[1].Loop = -1
	if _, err := expected(&b); err == nil || !strings.Contains(err.Error(), "test 2 of batch b has no end") {
		t.Error(err)
	}
	if _, err := expected(&console.Batch{Name: "b"}); err == nil {
		t.Error("a batch without tests has an end")
	}
}

// TestProgress: counters wrap, and a client that does not answer keeps what it has done.
func TestProgress(t *testing.T) {
	spec.Covers(t, "ST-45")
	sent := func(id, rpcs, brw uint32) console.Answer {
		a := statOf(id, 1, 0, 0)
		a.Stat.RPC.Sent, a.Stat.Framework.BRWErrors = rpcs, brw
		return a
	}
	var p progress
	p.add([]console.Answer{sent(1, 1<<32-10, 1), sent(2, 100, 0)})
	if got := p.sum(); got != (totals{}) {
		t.Errorf("%+v before the start", got)
	}
	p.add([]console.Answer{sent(1, 10, 3), sent(2, 105, 0)})
	p.add([]console.Answer{sent(1, 20, 4), {ID: at(2), Failed: syscall.ETIMEDOUT}})
	if got := p.sum(); got != (totals{RPCs: 35, BRWErrors: 3}) {
		t.Errorf("%+v", got)
	}
	for i := range uint32(4) { // more RPCs than a counter can have
		p.add([]console.Answer{sent(1, 20+(i+1)<<30, 4), sent(2, 105, 0)})
	}
	if got := p.sum(); got != (totals{RPCs: 35 + 1<<32, BRWErrors: 3}) {
		t.Errorf("%+v after the counter has wrapped", got)
	}
	again := sent(1, 5, 0) // the client has the session anew
	again.Stat.Framework.Running = 0
	p.add([]console.Answer{again})
	if got := p.sum(); got != (totals{RPCs: 35 + 1<<32, BRWErrors: 3}) {
		t.Errorf("%+v after a restart", got)
	}
}

// TestProgressBar: the bar says how much is done, and does not go beyond its end.
func TestProgressBar(t *testing.T) {
	var b strings.Builder
	p := progressBar{w: &b, total: 10}
	p.show(5, time.Second)
	p.show(20, 2*time.Second)
	p.end()
	half := strings.Repeat("█", barWidth/2)
	want := "\r" + half + strings.Repeat("░", barWidth/2) + "  50 %  5 of 10 RPCs  5 per second \r" + half + half + " 100 %  20 of 10 RPCs  10 per second \n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	quiet := progressBar{total: 10}
	quiet.show(5, time.Second)
	quiet.end() // must write nothing, because there is no terminal
}

// TestGroups: lists of several groups show the names of the groups; the list of a single group does not.
func TestGroups(t *testing.T) {
	groups := func(n uint32) (list []console.Group) {
		for i := range n {
			list = append(list, console.Group{
				Name: "g" + string('1'+rune(i)), Counts: console.Counts{Active: 1, Down: 1, Total: 2},
				Nodes: []console.Node{{ID: at(i), State: console.Active}, {ID: at(i + 100), State: console.Down}},
			})
		}
		return list
	}
	g := &globals{}
	for _, c := range []struct {
		groups []console.Group
		states []console.State
		want   string
	}{
		{groups(1), nil, "\t1\t0\t1\t0\t2\t(null)\n"},
		{groups(2), nil, "\t1\t0\t1\t0\t2\tg1\n\t1\t0\t1\t0\t2\tg2\n"},
		{groups(1), invalid, stateHeader + "Group [ g1 ]\nNo nodes found [ g1 ]\nGroup [ (null) ]\n\t12345-100@gni: Down\nTotal 1 nodes [ (null) ]\n"},
		{
			groups(2),
			[]console.State{console.Active},
			stateHeader + "Group [ g1 ]\n\t12345-0@gni: Active\nTotal 1 nodes [ g1 ]\nGroup [ g2 ]\n\t12345-1@gni: Active\nTotal 1 nodes [ g2 ]\n",
		},
	} {
		var b strings.Builder
		if err := g.printGroups(&b, c.groups, c.states); err != nil || b.String() != c.want {
			t.Errorf("%v: %q, want %q (%v)", c.states, b.String(), c.want, err)
		}
	}
}

// TestStatesOf: words of Lustre's tool stand for states.
func TestStatesOf(t *testing.T) {
	for word, want := range map[string]int{"active": 1, "BUSY": 1, "down": 1, "Unknown": 1, "invalid": 3, "nosuch": 0, "": 0} {
		if states, ok := statesOf(word); len(states) != want || ok != (want > 0) {
			t.Errorf("%s: %v, %t", word, states, ok)
		}
	}
}
