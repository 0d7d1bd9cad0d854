package worker_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/bench/worker"
)

// TestMain lets the test binary be the workers.
func TestMain(m *testing.M) {
	if code, asked := worker.Child(os.Args[1:], worker.Of("adder", serveAdder), worker.Of("sick", serveSick)); asked {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

type adder struct{ Start int }

// serveAdder adds numbers up, and tells of each.
func serveAdder(w *worker.Worker, a adder) (string, error) {
	sum := a.Start
	w.Defer(func() { w.Tell(-1) })
	worker.Order(w, "add", func(n int) (int, error) {
		sum += n
		w.Tell(n)
		return sum, nil
	})
	worker.Order(w, "fail", func(struct{}) (int, error) { return 0, errors.New("no use") })
	worker.Order(w, "hang", func(struct{}) (n int, err error) {
		nothing, more, err := os.Pipe()
		if err == nil {
			defer more.Close()
			n, err = nothing.Read(make([]byte, 1))
		}
		return n, err
	})
	return "adds", nil
}

func serveSick(*worker.Worker, struct{}) (bool, error) { return true, errors.New("no voice") }

func start(t *testing.T, cfg worker.Config) *worker.Process {
	t.Helper()
	cfg.Stderr = t.Output()
	p, err := worker.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestWorker: a worker gets its parameters, answers in order, tells of events, and does
// what was deferred when it is stopped.
func TestWorker(t *testing.T) {
	var told []int
	gone := make(chan struct{})
	p := start(t, worker.Config{
		Kind: "adder", Params: adder{Start: 10}, Event: worker.On(func(n int) { told = append(told, n) }), Gone: func() { close(gone) },
	})
	if ready, err := worker.Ready[string](p); err != nil || ready != "adds" {
		t.Fatalf("ready: %q, %v", ready, err)
	}
	for n, want := range []int{10, 11, 13} {
		if sum, err := worker.Ask[int](p, "add", n); err != nil || sum != want {
			t.Errorf("sum %d, %v; want %d", sum, err, want)
		}
	}
	for do, want := range map[string]string{"fail": "adder: no use", "sing": `adder: what is "sing"?`} {
		if _, err := worker.Ask[int](p, do, nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v", do, err)
		}
	}
	if err := p.Stop(); err != nil {
		t.Errorf("stopped: %v", err)
	}
	<-gone
	if want := []int{0, 1, 2, -1}; len(told) != 4 || told[2] != want[2] || told[3] != want[3] {
		t.Errorf("told %v, want %v", told, want)
	}
}

// TestSickWorker: what fails at the start is said, and so is a process that ends or hangs.
func TestSickWorker(t *testing.T) {
	sick := start(t, worker.Config{Kind: "sick"})
	if _, err := worker.Ready[bool](sick); err == nil || err.Error() != "sick: no voice" {
		t.Errorf("ready: %v", err)
	}
	if err := sick.Stop(); err == nil {
		t.Error("a worker that failed ended well")
	}
	crew := worker.Crew{start(t, worker.Config{Kind: "adder"}), start(t, worker.Config{Kind: "adder", Patience: time.Millisecond * 500})}
	defer crew.Stop()
	if all, err := worker.ReadyAll[string](crew); err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	if all, err := worker.AskAll[int](crew, "add", 2); err != nil || len(all) != 2 || all[1] != 2 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := worker.Ask[int](crew[1], "hang", nil); err == nil || !strings.Contains(err.Error(), "no answer for 500ms") {
		t.Errorf("a worker that hangs: %v", err)
	}
	for _, p := range crew {
		if err := p.Signal(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	if _, err := worker.AskAll[int](crew, "add", 2); err == nil {
		t.Error("the dead answer")
	}
}

// TestInterrupted: a worker ends with the context that it was started in.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := worker.Start(ctx, worker.Config{Kind: "adder", Stderr: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.Ready[string](p); err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	cancel(why)
	if _, err := worker.Ask[int](p, "add", 1); !errors.Is(err, why) {
		t.Errorf("asked after the end: %v", err)
	}
	if err := p.Stop(); err == nil {
		t.Error("it was not killed")
	}
}

// TestNoWorker: other arguments are for somebody else, and an unknown kind is a mistake.
func TestNoWorker(t *testing.T) {
	if _, asked := worker.Child([]string{"--goal"}); asked {
		t.Error("asked by --goal")
	}
	if code, asked := worker.Child([]string{"worker", "poet"}); !asked || code != 2 {
		t.Errorf("exit %d, %t", code, asked)
	}
}
