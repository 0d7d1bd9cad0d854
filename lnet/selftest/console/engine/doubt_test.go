package engine_test

import (
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest/console/engine"
	node "ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// clientOfTwo makes a session in which host 1 is the client of tests in "batch", and host 2 their
// server.
func clientOfTwo(t *testing.T) *lab {
	t.Helper()
	l := newLab(t, 3, engine.Config{})
	l.open(1, 2)
	l.must(0, &engine.AddGroup{Key: key, Name: "c", IDs: hostIDs(1)}, &engine.AddGroup{Key: key, Name: "s", IDs: hostIDs(2)})
	return l
}

// units returns how many units of each test run at host 1, in the order of the tests; -1: the host does not have the
// test.
func (l *lab) units(tests int) (list []int) {
	l.t.Helper()
	for number := 1; number <= tests; number++ {
		active := -1
		for _, a := range l.must(0, &engine.Query{Key: key, Batch: "batch", Test: number}) {
			active = int(a.Active)
		}
		list = append(list, active)
	}
	return list
}

// endless returns a test without end that has the given number of units.
func endless(units int) engine.Test {
	test := ping("c", "s")
	test.Loop, test.Concurrency = -1, units
	return test
}

// TestLostTest: if the reply of a client to a TEST request was lost, the console asks the client whether
// it has the test. It asks before it sends a query that names this test, or a later one, by the client's
// number. It does the same if the request was lost, so that the client did not get the test.
func TestLostTest(t *testing.T) {
	spec.Covers(t, "ST-27")
	for name, tt := range map[string]struct {
		request bool // the request is lost, not the reply
		want    []int
	}{
		"reply":   {false, []int{2, 3}},
		"request": {true, []int{-1, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			l := clientOfTwo(t)
			client := l.host(1)
			l.lost = func(from, to *host, service wire.Service) bool {
				return service == wire.TestService && (tt.request && to == client || !tt.request && from == client)
			}
			got := l.do(0, &engine.AddTest{Key: key, Test: endless(2)})
			if last := got.Answers[len(got.Answers)-1]; got.err != nil || last.Failed != syscall.ETIMEDOUT {
				t.Fatalf("%+v, %v", got.Answers, got.err)
			}
			l.lost = func(*host, *host, wire.Service) bool { return false }
			l.must(0, &engine.Ping{Key: key, Target: engine.Target{Group: "c"}}, &engine.AddTest{Key: key, Test: endless(3)}, &engine.Run{Key: key, Batch: "batch"})
			if got := l.units(2); got[0] != tt.want[0] || got[1] != tt.want[1] {
				t.Errorf("units %v, want %v", got, tt.want)
			}
		})
	}
}

// TestLostTestAsked: if a client's reply to a TEST request was lost, the console adds no further
// test until the client says whether it has the first. If a query needs the first test's number before
// that, the console asks the client, too.
func TestLostTestAsked(t *testing.T) {
	spec.Covers(t, "ST-27")
	l := clientOfTwo(t)
	client := l.host(1)
	l.lost = func(from, _ *host, service wire.Service) bool { return from == client && service == wire.TestService }
	l.do(0, &engine.AddTest{Key: key, Test: endless(2)})
	l.lost = func(_, to *host, service wire.Service) bool { return to == client && service == wire.BatchService }
	l.must(0, &engine.AddGroup{Key: key, Name: "again", IDs: hostIDs(1)})
	l.fails(0, &engine.AddTest{Key: key, Test: endless(3)}, syscall.ENETDOWN)
	if b, err := l.host(0).console.Batch("batch"); err != nil || len(b.Tests) != 1 {
		t.Errorf("%+v, %v", b, err)
	}
	l.lost = func(*host, *host, wire.Service) bool { return false }
	l.must(0, &engine.Ping{Key: key, Target: engine.Target{Group: "c"}}, &engine.Run{Key: key, Batch: "batch"})
	if got := l.units(1); got[0] != 2 {
		t.Errorf("units %v", got)
	}
}

// TestNodeStartsAnew: a node that was down and has started anew has no tests any more, and numbers
// the tests that it gets then from 1 on.
func TestNodeStartsAnew(t *testing.T) {
	spec.Covers(t, "ST-27")
	l := clientOfTwo(t)
	l.must(0, &engine.AddTest{Key: key, Test: endless(2)}, &engine.AddTest{Key: key, Test: endless(4)})
	client := l.host(1)
	client.dead = true
	l.do(0, &engine.Ping{Key: key, Target: engine.Target{Group: "c"}})
	var err error
	if client.node, err = node.NewNode(node.Config{FirstID: 7 << 48}); err != nil {
		t.Fatal(err)
	}
	client.dead = false
	l.must(0, &engine.AddGroup{Key: key, Name: "again", IDs: hostIDs(1)}, &engine.AddTest{Key: key, Test: endless(3)}, &engine.Run{Key: key, Batch: "batch"})
	if got := l.units(3); got[0] != -1 || got[1] != -1 || got[2] != 3 {
		t.Errorf("units %v", got)
	}
}
