package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ulnet/cmd/internal/program"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake runs programs in virtual time.
type fake struct {
	t   *testing.T
	set *Set
	log bytes.Buffer // log of the set; read only while no program runs

	mu      sync.Mutex
	running map[string]bool // handlers whose program runs; guarded by mu, like all fields below
	began   []time.Time
	batches []Batch
	inputs  []int         // the length of each input, in bytes
	takes   time.Duration // length of a run, which also ends with its context
	lingers time.Duration // how long a run continues after its context has ended
	result  program.Result
	err     error
}

func newFake(t *testing.T, h ...Handler) *fake {
	f := &fake{t: t, running: map[string]bool{}}
	log := slog.New(slog.NewTextHandler(&f.log, nil))
	f.set = start(Config{Handlers: h, Log: log}, f.run)
	return f
}

func (f *fake) run(ctx context.Context, r *program.Run) (program.Result, error) {
	var b Batch
	if err := json.Unmarshal(r.Input, &b); err != nil {
		f.t.Error(err)
	}
	f.mu.Lock()
	if f.running[b.Handler] {
		f.t.Errorf("two programs of handler %s run", b.Handler)
	}
	f.running[b.Handler] = true
	f.began, f.batches, f.inputs = append(f.began, time.Now()), append(f.batches, b), append(f.inputs, len(r.Input))
	takes, lingers, result, err := f.takes, f.lingers, f.result, f.err
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.running[b.Handler] = false
	}()
	select {
	case <-time.After(takes):
		return result, err
	case <-ctx.Done():
		<-time.After(lingers)
		return program.Result{Exit: -15}, nil
	}
}

// next sets the duration and the result of all further runs.
func (f *fake) next(takes time.Duration, result program.Result, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.takes, f.result, f.err = takes, result, err
}

func (f *fake) end() {
	f.set.End()
	if err := f.set.Wait(context.Background()); err != nil {
		f.t.Error(err)
	}
}

// numbers returns those events of a batch that are numbers.
func numbers(b *Batch) (list []int) {
	for _, e := range b.Events {
		var n int
		if json.Unmarshal(e, &n) == nil {
			list = append(list, n)
		}
	}
	return list
}

func all(string) bool { return true }

func handlerOf(name string) Handler {
	return Handler{Name: name, Selects: all, Program: []string{"/bin/sh"}, Timeout: time.Minute, Interval: time.Second}
}

// TestBatches: events during a run, and until the interval is over, form the next batch. One
// program runs at a time.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlerOf("h")
		h.Selects = func(event string) bool { return event == "zone.left" }
		f := newFake(t, h)
		f.next(1500*time.Millisecond, program.Result{}, nil)
		begin := time.Now()
		f.set.Tell("zone.left", 1)
		f.set.Tell("zone.joined", -1)
		synctest.Wait()
		f.set.Tell("zone.left", 2)
		<-time.After(time.Second)
		f.set.Tell("zone.left", 3)
		<-time.After(10 * time.Second)
		f.next(0, program.Result{}, nil)
		f.set.Tell("zone.left", 4)
		synctest.Wait()
		f.set.Tell("zone.left", 5) // the run with event 4 has ended, but its interval has not, so this event waits
		<-time.After(10 * time.Second)
		f.end()
		want := []string{"[1] 0s", "[2 3] 1.5s", "[4] 11s", "[5] 12s"}
		for i := range f.batches {
			b := &f.batches[i]
			got := fmt.Sprint(numbers(b), " ", f.began[i].Sub(begin))
			if i >= len(want) || got != want[i] || b.Handler != "h" || b.Version != 1 || b.Missed != 0 {
				t.Errorf("batch %d: %s of %+v", i, got, b)
			}
		}
		s := f.set.Status()[0]
		if len(f.batches) != len(want) || s.Runs != 4 || s.Events != 5 || s.Failures != 0 || s.Missed != 0 || s.Running || s.Waiting != 0 || s.Last.Events != 1 {
			t.Errorf("%d batches, %+v", len(f.batches), s)
		}
	})
}

// TestStaleWake: an event that was already in the previous batch does not start the program
// again.
func TestStaleWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(handlerOf("h"), Config{Log: slog.New(slog.DiscardHandler)}, nil)
		h.tell([]byte("1"))
		if events, _, ok := h.begin(); !ok || len(events) != 1 {
			t.Fatalf("%d events", len(events))
		}
		ctx, cancel := context.WithCancel(t.Context())
		var ran atomic.Bool
		go func() {
			_, _, ok := h.next(ctx)
			ran.Store(ok)
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if ran.Load() {
			t.Error("an empty batch")
		}
	})
}

// TestMissed: the queue is bounded by number and by size. The oldest events are dropped, and the
// next batch and the status count them.
func TestMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, handlerOf("h"))
		f.next(10*time.Second, program.Result{}, nil)
		f.set.Tell("e", -1)
		synctest.Wait()
		for i := range MaxEvents + 7 {
			f.set.Tell("e", i)
		}
		if s := f.set.Status()[0]; s.Waiting != MaxEvents || s.Missed != 7 || !s.Running {
			t.Errorf("%+v", s)
		}
		<-time.After(15 * time.Second)
		if s := f.set.Status()[0]; s.Waiting != 0 || s.Missed != 7 || !s.Running {
			t.Errorf("while the run goes on that is told what was dropped: %+v", s)
		}
		big := strings.Repeat("x", MaxEvent-2) // as JSON, in quotation marks, it has MaxEvent bytes
		f.set.Tell("e", 7)
		for range MaxBytes / MaxEvent {
			f.set.Tell("e", big)
		}
		f.set.Tell("e", strings.Repeat("x", MaxBytes/2)) // dropped, because it is larger than MaxEvent; the events before it stay
		f.set.Tell("e", 8)
		<-time.After(time.Minute)
		f.end()
		if len(f.batches) != 3 {
			t.Fatalf("%d batches", len(f.batches))
		}
		b := &f.batches[1]
		if list := numbers(b); b.Missed != 7 || len(list) != MaxEvents || list[0] != 7 || list[MaxEvents-1] != MaxEvents+6 {
			t.Errorf("missed %d, %d events", b.Missed, len(list))
		}
		b = &f.batches[2]
		if list := numbers(b); b.Missed != 3 || fmt.Sprint(list) != "[8]" || len(b.Events) != MaxBytes/MaxEvent {
			t.Errorf("missed %d, %d events, %v", b.Missed, len(b.Events), list)
		}
		if s := f.set.Status()[0]; s.Missed != 10 || s.Events != 1+MaxEvents+MaxBytes/MaxEvent {
			t.Errorf("%+v", s)
		}
	})
}

// TestRateOfRuns: an endless stream of events that another node causes leads to one run per
// interval, and bounded memory.
func TestRateOfRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, handlerOf("h"))
		f.next(0, program.Result{Exit: 1}, nil) // the program fails, to show that the log does not grow fast either
		for i := range 20_000 {
			for j := range 3 {
				f.set.Tell("zone.joined", 3*i+j)
			}
			<-time.After(5 * time.Millisecond)
		}
		f.end()
		if n := len(f.batches); n < 99 || n > 101 {
			t.Errorf("%d runs in 100 s", n)
		}
		told := 0
		for i := range f.batches {
			told += len(f.batches[i].Events) + int(f.batches[i].Missed)
			if f.inputs[i] > MaxBytes+64*MaxEvents {
				t.Errorf("%d bytes", f.inputs[i])
			}
		}
		if told < 59_000 {
			t.Errorf("%d events are accounted for", told)
		}
		if lines := strings.Count(f.log.String(), "handler failed"); lines != 2 {
			t.Errorf("%d lines in the log:\n%s", lines, &f.log)
		}
	})
}

// TestComplaints: the log has failures with the output of the program, the number of repeated ones,
// and the first success after them.
func TestComplaints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, handlerOf("h"))
		once := func(result program.Result, err error) {
			f.next(0, result, err)
			f.set.Tell("e", 0)
			<-time.After(10 * time.Second)
		}
		once(program.Result{}, nil)
		for range 4 {
			once(program.Result{Exit: 3, Output: []byte("disk \xff full\n")}, nil)
		}
		once(program.Result{}, nil)
		once(program.Result{Exit: 4}, nil)
		once(program.Result{}, nil)
		once(program.Result{Exit: -9, TimeOver: true}, nil)
		once(program.Result{}, errors.New("no such file"))
		f.end()
		got := f.log.String()
		for _, want := range []string{
			`level=WARN msg="handler failed" handler=h exit=3 events=1 took_ms=0 output="disk � full\n"` + "\n",
			`level=INFO msg="handler works again" handler=h exit=0`,
			`level=WARN msg="handler failed" handler=h exit=-9 events=1 took_ms=0 time_over=true unsaid=4` + "\n",
		} {
			if strings.Count(got, want) != 1 {
				t.Errorf("not once %s", want)
			}
		}
		if strings.Count(got, "\n") != 3 {
			t.Errorf("log:\n%s", got)
		}
		s := f.set.Status()[0]
		if s.Runs != 10 || s.Failures != 7 || s.TimedOut != 1 || s.Problem != "no such file" || s.Last.Exit != -1 || s.Last.Error != "no such file" {
			t.Errorf("%+v", s)
		}
	})
}

// TestEnd: End ends the program, drops the queue, and leaves no caller waiting.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, handlerOf("a"), handlerOf("b"))
		f.next(time.Hour, program.Result{}, nil)
		f.set.Tell("e", 1)
		synctest.Wait()
		f.set.Tell("e", 2)
		failed := make(chan error, 2)
		go func() {
			_, err := f.set.Test(t.Context(), "b")
			failed <- err
		}()
		synctest.Wait()
		began := time.Now()
		f.end()
		if err := <-failed; err == nil || time.Since(began) > 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		f.set.Tell("e", 3)
		if _, err := f.set.Test(t.Context(), "a"); err == nil {
			t.Error("a handler runs after the end")
		}
		if s := f.set.Status(); s[0].Waiting != 0 || s[0].Runs != 1 || strings.Count(f.log.String(), "not handled at the end") != 2 {
			t.Errorf("%+v\n%s", s, &f.log)
		}
		var none *Set
		none.Tell("e", 1)
		none.End()
		if err := none.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := none.Test(t.Context(), "a"); !errors.Is(err, ErrNone) || len(none.Status()) != 0 {
			t.Error(err)
		}
	})
}

// TestReplace: a handler that stays keeps its queued events and its running program. A handler that is
// replaced ends, with its program, before its successor runs. A new handler gets only later events.
func TestReplace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, handlerOf("stays"), handlerOf("changes"), handlerOf("goes"))
		f.next(10*time.Second, program.Result{}, nil)
		f.set.Tell("event", 1)
		synctest.Wait()
		f.set.Tell("event", 2)
		changed := handlerOf("changes")
		changed.On = []string{"zone"}
		f.set.Replace([]Handler{handlerOf("new"), changed, handlerOf("stays")}, func(name string) bool { return name != "changes" })
		f.set.Tell("event", 3)
		<-time.After(time.Minute)
		f.end()
		got := map[string][]int{}
		for i := range f.batches {
			got[f.batches[i].Handler] = append(got[f.batches[i].Handler], numbers(&f.batches[i])...)
		}
		want := map[string]string{"stays": "[1 2 3]", "changes": "[1 3]", "goes": "[1]", "new": "[3]"}
		for name, list := range got {
			if fmt.Sprint(list) != want[name] {
				t.Errorf("%s got %v, want %s", name, list, want[name])
			}
		}
		var names []string
		for _, s := range f.set.Status() {
			names = append(names, fmt.Sprint(s.Name, s.On, s.Runs))
		}
		if text := strings.Join(names, " "); text != "new[] 1 changes[zone] 1 stays[] 2" {
			t.Errorf("handlers %s", text)
		}
		f.set.Replace([]Handler{handlerOf("late")}, all) // Replace after End has no effect
		if n := len(f.set.Status()); n != 3 {
			t.Errorf("%d handlers after the end", n)
		}
	})
}

// TestPutBack: if a handler is removed and added again, even twice, it runs its program only after the program of
// the first handler has ended, however long that program ignores SIGTERM.
func TestPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, handlerOf("h"))
		f.next(time.Minute, program.Result{}, nil)
		f.lingers = 3 * time.Second
		f.set.Tell("event", 1)
		synctest.Wait()
		for range 2 {
			f.set.Replace(nil, all)
			f.set.Replace([]Handler{handlerOf("h")}, all)
		}
		f.set.Tell("event", 2)
		<-time.After(4 * time.Second)
		f.end()
		if n := len(f.batches); n != 2 || fmt.Sprint(numbers(&f.batches[n-1])) != "[2]" {
			t.Errorf("%d programs were run", n)
		}
	})
}
