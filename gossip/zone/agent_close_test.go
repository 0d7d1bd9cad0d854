package zone

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"ulnet/gossip/zone/engine"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// loneMember returns the agent of a node that is the only member of its zone.
func loneMember(t *testing.T, clock machine.Clock) *Agent {
	t.Helper()
	node := lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()})
	table := portals.New(node)
	if _, err := node.AddNI(lo.Driver{}, lnd.Config{Net: nid.MakeNet(nid.Lo, 0)}); err != nil {
		t.Fatal(err)
	}
	if _, err := discovery.NewTarget(table); err != nil {
		t.Fatal(err)
	}
	a, err := New(table, Config{Zone: "test", Self: MustParseID("n=0@lo"), Clock: clock})
	if err == nil {
		err = a.Join(0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestCloseWaitsForQuery: Close waits for a running call of a function of Query, at most until the context
// ends, and the error says which function runs (MS-112).
func TestCloseWaitsForQuery(t *testing.T) {
	spec.Covers(t, "MS-112")
	clock := &stubClock{Clock: machine.RealClock()}
	a := loneMember(t, clock)
	called, release := make(chan struct{}), make(chan struct{})
	a.queries.send = func(string, uint64) {} // no answer comes
	a.queries.begin("other", func([]Named, error) {
		close(called)
		<-release
	})
	go clock.timers[0]() // the timeout of the query passes without an answer
	<-called
	why := errors.New("there is no time")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := a.Close(ctx); !errors.Is(err, why) || !strings.Contains(err.Error(), "Query") {
		t.Errorf("%v while a function is being called", err)
	}
	close(release)
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCloseAmid (MS-112): the agent is closed between the checks of a method and its step. The method returns ErrClosed, since what it
// should do may not have been done.
func TestCloseAmid(t *testing.T) {
	spec.Covers(t, "MS-112")
	a := loneMember(t, machine.RealClock())
	if err := a.Leave(0); err != nil {
		t.Fatal(err)
	}
	closing := make(chan error, 1)
	a.keeper.keep = func(uint64) {
		go func() { closing <- a.Close(t.Context()) }()
		for !a.closed.Load() {
			runtime.Gosched()
		}
	}
	if err := a.Join(1 << 40); err != ErrClosed {
		t.Errorf("Join: %v, want %v", err, ErrClosed)
	}
	if err := <-closing; err != nil {
		t.Error(err)
	}
	for _, kind := range []engine.InputKind{engine.Leave, engine.Remove, engine.Set, engine.Delete} {
		if err := a.step(engine.AddressedInput{Input: engine.Input{Kind: kind, Key: "k"}}); err != ErrClosed {
			t.Errorf("%v: %v, want %v", kind, err, ErrClosed)
		}
	}
}
