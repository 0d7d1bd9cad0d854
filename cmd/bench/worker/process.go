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

// Config describes a worker that is to be started.
type Config struct {
	Kind    string    // name of the Kind; names the worker in errors
	Params  any       // parameters of the kind, encoded as JSON
	Program string    // path of the executable; empty: this program
	Args    []string  // arguments of the program; nil: those by which Child recognizes a worker
	Stderr  io.Writer // standard error of the process; nil: it is discarded

	// Within calls start in the environment of the process, like netlab.Host.Do. If nil, start
	// is called directly.
	Within func(start func() error) error

	Event    func(raw json.RawMessage) // called with each event, sequentially; may be nil
	Gone     func()                    // called after the last event; may be nil
	Patience time.Duration             // longest wait for an answer; 0: ten minutes
}

// Process is a worker, seen from its parent.
type Process struct {
	cfg     Config
	ctx     context.Context
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.Reader
	answers chan frame    // answers of the worker; closed at the end of its output
	stopped chan struct{} // closed when Stop is called

	// Answers arrive in the order of requests, and so need no numbers.
	asked int // number of requests sent, including the parameters
	heard int // number of answers received
}

// On returns an Event function for events of one type.
func On[E any](f func(e E)) func(raw json.RawMessage) {
	return func(raw json.RawMessage) {
		var e E
		if json.Unmarshal(raw, &e) == nil { // it cannot fail, because a worker sends events of one type only
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
	// The worker gets a process group of its own, so that an interrupt goes to this process
	// only. If this process dies, a worker ends because its standard input ends, and a stopped
	// worker ends by the SIGHUP for orphaned process groups. Pdeathsig is no alternative: it
	// kills a worker when the thread that started the worker ends, and threads in other
	// namespaces do end.
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
		_ = p.Stop() // the error only says that the process was killed
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

// listen reads answers and events until the output of the worker ends.
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
			case <-p.stopped: // Stop was called, so no caller waits for the answer
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

// hear waits for the answer to the last request. It drops answers to earlier requests, whose
// callers have given up.
func (p *Process) hear() (f frame, err error) {
	patience := cmp.Or(p.cfg.Patience, 10*time.Minute)
	late := time.NewTimer(patience)
	defer late.Stop()
	for ; p.heard < p.asked; p.heard++ {
		if err := context.Cause(p.ctx); err != nil {
			return f, err
		}
		var ok bool
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

// Ready waits until a worker reports that it is ready, and returns the value in that report.
func Ready[R any](p *Process) (R, error) { return answer[R](p) }

// Ask sends an order with an argument, and returns the answer.
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

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// grace is the time that a worker may take to end before it is killed.
var grace = 10 * time.Second

// Stop closes the standard input of the worker, and kills it if it has not ended after grace, or at
// once if the context has ended. It returns the error of Cmd.Wait.
func (p *Process) Stop() error { return p.end()() }

// end begins to end the worker, and returns a function that waits for that.
func (p *Process) end() (wait func() error) {
	close(p.stopped)
	if p.ctx.Err() != nil {
		_ = p.cmd.Process.Kill() // exec kills it too, but perhaps after it has ended by itself
	}
	_ = p.in.Close()
	force := time.AfterFunc(grace, func() { _ = p.cmd.Process.Kill() })
	return func() error {
		defer force.Stop()
		for range p.answers { // drop answers until the worker's output ends
		}
		return p.cmd.Wait()
	}
}

// Crew is a group of workers.
type Crew []*Process

// Stop ends all workers concurrently.
func (c Crew) Stop() {
	var waits []func() error
	for _, p := range c {
		waits = append(waits, p.end())
	}
	for _, wait := range waits {
		_ = wait() // the exit status does not matter here
	}
}

// ReadyAll waits until all workers are ready, and returns their values.
func ReadyAll[R any](c Crew) ([]R, error) { return each(c, Ready[R]) }

// AskAll sends an order to all workers at the same time, and returns their answers.
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
