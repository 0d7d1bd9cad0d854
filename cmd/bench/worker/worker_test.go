package worker_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest/procstate"
)

// TestMain runs the test binary as a worker if its arguments ask for one.
func TestMain(m *testing.M) {
	if code, asked := worker.Child(os.Args[1:], worker.Of("adder", serveAdder), worker.Of("sick", serveSick)); asked {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

type adder struct{ Start int }

// serveAdder adds numbers, and sends an event for each addition.
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

// TestWorker: a worker gets its parameters, answers in order, sends events, and calls the
// deferred functions when it is stopped.
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
	if want := []int{0, 1, 2, -1}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

// TestSickWorker: an error at the start is reported, and so is a process that ends or hangs.
func TestSickWorker(t *testing.T) {
	sick := start(t, worker.Config{Kind: "sick"})
	if _, err := worker.Ready[bool](sick); err == nil || err.Error() != "sick: no voice" {
		t.Errorf("ready: %v", err)
	}
	if err := sick.Stop(); err == nil {
		t.Error("a worker that failed ended well")
	}
	crew := worker.Crew{start(t, worker.Config{Kind: "adder"}), start(t, worker.Config{Kind: "adder"})}
	defer crew.Stop()
	if all, err := worker.ReadyAll[string](crew); err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	if all, err := worker.AskAll[int](crew, "add", 2); err != nil || len(all) != 2 || all[1] != 2 {
		t.Errorf("%v, %v", all, err)
	}
	crew[1].SetPatience(200 * time.Millisecond)
	if _, err := worker.Ask[int](crew[1], "hang", nil); err == nil || !strings.Contains(err.Error(), "no answer for 200ms") {
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

// freeze stops a worker, and returns when none of its threads runs any longer.
func freeze(t *testing.T, p *worker.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); !procstate.Stopped(p.PID()); runtime.Gosched() {
		if time.Since(begin) > time.Minute {
			t.Fatal("a worker runs on after SIGSTOP")
		}
	}
}

// TestLateAnswer: a late answer is not taken for the answer to the next request.
func TestLateAnswer(t *testing.T) {
	p := start(t, worker.Config{Kind: "adder"})
	if _, err := worker.Ready[string](p); err != nil {
		t.Fatal(err)
	}
	freeze(t, p)
	p.SetPatience(200 * time.Millisecond)
	if sum, err := worker.Ask[int](p, "add", 1); err == nil {
		t.Errorf("sum %d of a frozen worker", sum)
	}
	p.SetPatience(0)
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if sum, err := worker.Ask[int](p, "add", 7); err != nil || sum != 8 {
		t.Errorf("sum %d, %v; want 8", sum, err)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("stopped: %v", err)
	}
}

// TestFailedStart: a worker whose start fails does not run, and leaves no file descriptor open.
func TestFailedStart(t *testing.T) {
	why := errors.New("no such place")
	for name, cfg := range map[string]worker.Config{
		"unspeakable parameters": {Params: func() {}},
		"a place that fails":     {Within: func(start func() error) error { return errors.Join(start(), why) }},
	} {
		gone := make(chan struct{})
		cfg.Kind, cfg.Gone = "adder", func() { close(gone) }
		if p, err := worker.Start(t.Context(), cfg); err == nil || p != nil {
			t.Errorf("%s: %v, %v", name, p, err)
		}
		select {
		case <-gone:
		default:
			t.Errorf("%s: it runs", name)
		}
	}
	before := descriptors(t)
	cfg := worker.Config{Kind: "adder", Within: func(func() error) error { return why }}
	if _, err := worker.Start(t.Context(), cfg); !errors.Is(err, why) {
		t.Errorf("in no place: %v", err)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// TestStopFrozen: workers that do not react are killed together, after one grace period, not one
// after another with a grace period for each.
func TestStopFrozen(t *testing.T) {
	const grace = time.Second
	defer worker.SetGrace(grace)()
	var crew worker.Crew
	const workers = 16
	for range workers {
		crew = append(crew, start(t, worker.Config{Kind: "adder"}))
	}
	if _, err := worker.ReadyAll[string](crew); err != nil {
		t.Error(err)
	}
	for _, p := range crew {
		freeze(t, p)
	}
	began := time.Now()
	crew.Stop()
	if took := time.Since(began); took < grace || took > (workers-1)*grace {
		t.Errorf("it took %v", took)
	}
}

// TestInterrupted: a worker ends when the context ends that Start was called with.
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

// TestNoWorker: arguments that do not ask for a worker are left to the program, and an unknown
// kind is an error.
func TestNoWorker(t *testing.T) {
	if _, asked := worker.Child([]string{"--goal"}); asked {
		t.Error("asked by --goal")
	}
	if code, asked := worker.Child([]string{"worker", "poet"}); !asked || code != 2 {
		t.Errorf("exit %d, %t", code, asked)
	}
}
