package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Config says what worker is started, and how.
type Config struct {
	Kind    string
	Params  any
	Program string   // by default this one
	Args    []string // of a program that speaks like a worker; by default what Child looks for
	Stderr  io.Writer

	// Within starts the process where it shall be, as netlab.Host.Do does; by default
	// start is called.
	Within func(start func() error) error

	Event    func(raw json.RawMessage) // is called with each event, one after the other
	Gone     func()                    // is called when no more will come
	Patience time.Duration             // how long an answer may take; 0: ten minutes
}

// Process is a worker that this process has started.
type Process struct {
	cfg     Config
	ctx     context.Context
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.Reader
	answers chan frame    // closed when it says no more
	stopped chan struct{} // closed by Stop

	// Answers come in the order of requests, and so their numbers are not said.
	asked int // requests, the parameters among them
	heard int // answers
}

// On is an Event that takes events of one type.
func On[E any](f func(e E)) func(raw json.RawMessage) {
	return func(raw json.RawMessage) {
		var e E
		if json.Unmarshal(raw, &e) == nil { // our own workers say nothing else
			f(e)
		}
	}
}

// Start starts a worker. It is killed when ctx ends; otherwise Stop ends it.
func Start(ctx context.Context, cfg Config) (*Process, error) {
	if cfg.Program == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cfg.Program = self
	}
	p := &Process{cfg: cfg, ctx: ctx, answers: make(chan frame, 1), stopped: make(chan struct{})}
	if cfg.Args == nil {
		cfg.Args = []string{"worker", cfg.Kind}
	}
	p.cmd = exec.CommandContext(ctx, cfg.Program, cfg.Args...)
	p.cmd.Stderr = cfg.Stderr
	// An interrupt is for this process. Should it die, its workers end with their standard
	// input, and those that are stopped by the SIGHUP that an orphaned process group gets.
	// Pdeathsig would kill them when the thread that started them ends, as those do that
	// were in another namespace.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if cfg.Within == nil {
		cfg.Within = func(start func() error) error { return start() }
	}
	err := cfg.Within(p.start)
	if p.cmd.Process == nil {
		return nil, err
	}
	go p.listen()
	if err == nil {
		err = p.send(cfg.Params)
	}
	if err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.Stop() // it was killed
		return nil, err
	}
	return p, nil
}

func (p *Process) start() (err error) {
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	return p.cmd.Start()
}

func (p *Process) send(v any) error {
	raw, err := json.Marshal(v)
	if err == nil {
		p.asked++
		_, err = p.in.Write(append(raw, '\n'))
	}
	return err
}

// listen takes what the worker says until it ends.
func (p *Process) listen() {
	defer close(p.answers)
	if p.cfg.Gone != nil {
		defer p.cfg.Gone()
	}
	for d := json.NewDecoder(p.out); ; {
		var f frame
		if d.Decode(&f) != nil {
			return
		}
		if f.Event == nil {
			select {
			case p.answers <- f:
			case <-p.stopped: // nobody takes it any more
			}
		} else if p.cfg.Event != nil {
			p.cfg.Event(f.Event)
		}
	}
}

// answer waits for the answer to the last request.
func answer[R any](p *Process) (r R, err error) {
	f, err := p.hear()
	switch {
	case err != nil:
	case f.Error != "":
		err = errors.New(f.Error)
	default:
		err = json.Unmarshal(f.Value, &r)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", p.cfg.Kind, err)
	}
	return r, err
}

// hear waits for the answer to the last request, and drops those to earlier ones, for which
// nobody waits any more.
func (p *Process) hear() (f frame, err error) {
	patience := cmp.Or(p.cfg.Patience, 10*time.Minute)
	late := time.NewTimer(patience)
	defer late.Stop()
	for ok := true; p.heard < p.asked; p.heard++ {
		select {
		case f, ok = <-p.answers:
			if !ok {
				return f, cmp.Or(context.Cause(p.ctx), errors.New("the process has ended"))
			}
		case <-late.C:
			return f, fmt.Errorf("no answer for %v", patience)
		case <-p.ctx.Done():
			return f, context.Cause(p.ctx)
		}
	}
	return f, nil
}

// Ready waits until a worker is ready, and returns what it says then.
func Ready[R any](p *Process) (R, error) { return answer[R](p) }

// Ask has a worker do something, and returns its answer.
func Ask[R any](p *Process, do string, with any) (r R, err error) {
	raw, err := json.Marshal(with)
	if err != nil {
		return r, err
	}
	if err := p.send(request{do, raw}); err != nil {
		return r, fmt.Errorf("%s: %w", p.cfg.Kind, cmp.Or(context.Cause(p.ctx), err))
	}
	return answer[R](p)
}

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// grace is how long a worker may take to end, before it is killed.
var grace = 10 * time.Second

// Stop ends the worker: with its standard input, and by force if that takes long. It
// returns how the process ended.
func (p *Process) Stop() error { return p.end()() }

// end begins to end the worker, and returns what waits for that.
func (p *Process) end() (wait func() error) {
	close(p.stopped)
	_ = p.in.Close()
	force := time.AfterFunc(grace, func() { _ = p.cmd.Process.Kill() })
	return func() error {
		defer force.Stop()
		for range p.answers { // until it says no more
		}
		return p.cmd.Wait()
	}
}

// Crew is workers that do something together.
type Crew []*Process

// Stop ends all of them, at the same time.
func (c Crew) Stop() {
	var waits []func() error
	for _, p := range c {
		waits = append(waits, p.end())
	}
	for _, wait := range waits {
		_ = wait() // nothing depends on how it ends
	}
}

// ReadyAll waits until all are ready, and returns what each says.
func ReadyAll[R any](c Crew) ([]R, error) { return each(c, Ready[R]) }

// AskAll has all do something at the same time, and returns their answers.
func AskAll[R any](c Crew, do string, with any) ([]R, error) {
	raw, err := json.Marshal(with)
	if err != nil {
		return nil, err
	}
	for _, p := range c {
		if err := p.send(request{do, raw}); err != nil {
			return nil, err
		}
	}
	return each(c, answer[R])
}

func each[R any](c Crew, f func(*Process) (R, error)) (list []R, err error) {
	for i, p := range c {
		r, err := f(p)
		if err != nil {
			return nil, fmt.Errorf("process %d: %w", i, err)
		}
		list = append(list, r)
	}
	return list, nil
}
