package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/lndtest/netlab"
)

// Time limits that do not depend on LNet.
const (
	startTimeout = 30 * time.Second
	// stopTimeout is longer than twice the constant patience of workers.
	stopTimeout = 2*patience + 10*time.Second
	quitTimeout = 2*patience + 10*time.Second
	// restTime: if no message arrives for this long, no message is in flight any more.
	restTime = time.Second
)

// soakConfig has the flags of the command line.
type soakConfig struct {
	length  time.Duration
	net     network
	seed    uint64
	hosts   int // number of workers
	rails   int // number of links of each host on each of its nets
	routers int
	rate    int // operations that each worker starts per second
	faults  []faultKind
	ipv6    bool
	log     slog.Level
	keep    bool
	command string // command line that repeats the run
}

// soak is one run. All fields except inbox are owned by the goroutine of run.
type soak struct {
	cfg      soakConfig
	self     string // path of this program's file
	dir      string // path of the folder of the logs
	progress *progress
	layout   layout
	members  []*member // workers, followed by routers
	began    time.Time
	started  bool // all workers run; from now on, new incarnations start operations at once
	quitting bool // workers have been told to quit

	ledger *ledger
	counts [faultKinds]faultCount
	since  map[*fault]time.Time // when each fault that has not ended began
	notes  *os.File             // log of all actions, with times
	states int                  // how often the states of all workers were collected, see state.go
	stated time.Time            // when the states were last collected

	inbox     chan news
	over      chan struct{} // closed when inbox is not read any more
	open      int           // number of journals that have not ended
	followers sync.WaitGroup
}

type faultCount struct {
	Times   int     `json:"times"`
	Seconds float64 `json:"seconds"`
}

// runSoak runs the soak. If it returns an error, it returns a report as well.
func runSoak(ctx context.Context, cfg soakConfig, stderr io.Writer) (*report, error) {
	s := &soak{
		cfg: cfg, ledger: newLedger(), since: make(map[*fault]time.Time), inbox: make(chan news, 256), over: make(chan struct{}), began: time.Now(),
		progress: newProgress(stderr),
		layout:   layout{cfg.hosts, cfg.routers, cfg.rails, cfg.net, cfg.ipv6},
	}
	s.ledger.repeats = s.layout.severalPaths
	if len(cfg.faults) == 0 {
		s.ledger.calm = 0
	}
	var err error
	if s.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "soak"); err != nil {
		return nil, err
	}
	if s.notes, err = os.Create(filepath.Join(s.dir, "soak.log")); err != nil {
		return nil, err
	}
	err = netlab.Perform(func(t netlab.T) error {
		// Cleanups run in reverse order, so the followers end after the workers.
		t.Cleanup(s.followers.Wait)
		t.Cleanup(func() { close(s.over) })
		s.build(t)
		return s.run(ctx)
	})
	if _, missing := errors.AsType[*netlab.SkipError](err); missing {
		err = cli.Hint(err, "the soak needs root, network namespaces, TAP devices and nft (Debian package nftables)")
	}
	s.progress.end()
	r := s.report()
	return r, s.close(err)
}

// build makes the hosts, each with links to the switches of its rails.
func (s *soak) build(t netlab.T) {
	lab := netlab.New(t)
	hubs := make(map[link]*netlab.Host)
	for i := range s.layout.hosts() {
		m := &member{index: i, host: lab.Host(fmt.Sprintf("host %d", i))}
		for n, at := range s.layout.links(i) {
			if hubs[at] == nil {
				hubs[at] = lab.Switch(fmt.Sprintf("switch %d.%d", at.side, at.rail))
			}
			addr := netip.PrefixFrom(s.layout.address(i, at), s.layout.subnet(at).Bits())
			wire := lab.Wire(m.host, addr.String(), hubs[at], "", s.cfg.seed+uint64(n<<8|i))
			wire.SetMTU(usualMTU)
			m.wires, m.hubs = append(m.wires, wire), append(m.hubs, hubs[at])
		}
		s.members = append(s.members, m)
	}
}

func (s *soak) run(ctx context.Context) error {
	// Routers start first, because a gateway that does not answer its first check counts as down
	// until the next one.
	for _, m := range slices.Backward(s.members) {
		if err := s.launch(m); err != nil {
			return err
		}
		if m.index == s.layout.workers {
			started := func() bool {
				return !slices.ContainsFunc(s.members[m.index:], func(m *member) bool { return m.state < running })
			}
			if err := s.await(ctx, startTimeout, "routers to start", started); err != nil {
				return err
			}
		}
	}
	if err := s.await(ctx, startTimeout, "workers to start", s.all(running)); err != nil {
		return err
	}
	s.began, s.started = time.Now(), true
	for _, m := range s.members {
		if err := m.process.tell(cmdStart); err != nil {
			return err
		}
	}
	if err := s.faults(ctx); err != nil {
		return err
	}
	if err := s.until(ctx, s.cfg.length); err != nil {
		return err
	}
	return s.finish(ctx)
}

// faults makes the faults of the plan, and begins the calm part of the run when their consequences must be over.
func (s *soak) faults(ctx context.Context) error {
	last := time.Duration(0)
	for _, a := range actions(newPlan(s.cfg.seed, s.layout, s.cfg.length, s.cfg.faults)) {
		if err := s.until(ctx, a.at); err != nil {
			return err
		}
		if err := s.carryOut(a); err != nil {
			return err
		}
		last = time.Since(s.began) // the kernel may take long to change a link
	}
	if calm := last + s.layout.recovery(); len(s.cfg.faults) > 0 && calm < s.cfg.length {
		if err := s.until(ctx, calm); err != nil {
			return err
		}
		if err := s.await(ctx, startTimeout, "workers to start", s.all(running)); err != nil {
			return err
		}
		if err := s.tellAll(ctx, cmdCalm, startTimeout, calmed); err != nil {
			return err
		}
		s.ledger.calm = time.Now().UnixMicro()
	}
	return nil
}

// finish stops all traffic and checks that nothing is in flight.
func (s *soak) finish(ctx context.Context) error {
	if err := s.await(ctx, startTimeout, "workers to start", s.all(running)); err != nil {
		return err
	}
	if err := s.tellAll(ctx, cmdStop, stopTimeout, stopped); err != nil {
		return err
	}
	if err := s.rest(ctx); err != nil {
		return err
	}
	s.quitting = true
	if err := s.tellAll(ctx, cmdQuit, quitTimeout, exited); err != nil {
		return err
	}
	if err := s.await(ctx, startTimeout, "journals to end", func() bool { return s.open == 0 }); err != nil {
		return err
	}
	if err := s.ledger.finish(); err != nil {
		return &violation{err.Error()}
	}
	return nil
}

// tellAll sends a command to all workers and waits until all have reached a state.
func (s *soak) tellAll(ctx context.Context, line string, timeout time.Duration, state memberState) error {
	s.note("tells workers to %s", line)
	for _, m := range s.members {
		if err := m.process.tell(line); err != nil {
			return err
		}
	}
	return s.await(ctx, timeout, "workers to "+line, s.all(state))
}

// rest waits until no message arrives any more. That is necessary because a PUT without ACK can
// end at its sender before it arrives at its target.
func (s *soak) rest(ctx context.Context) error {
	for before := -1; before != s.ledger.taken; {
		before = s.ledger.taken
		if err := s.loop(ctx, time.After(restTime), func() bool { return false }); err != nil {
			return err
		}
	}
	return nil
}

// all returns a function that reports whether every member has reached a state, or a later one.
func (s *soak) all(state memberState) func() bool {
	return func() bool {
		return !slices.ContainsFunc(s.members, func(m *member) bool { return m.state < state })
	}
}

// until processes news until an instant, which is given as the time since the start of the run.
func (s *soak) until(ctx context.Context, at time.Duration) error {
	return s.loop(ctx, time.After(time.Until(s.began.Add(at))), func() bool { return false })
}

// await processes news until a condition holds.
func (s *soak) await(ctx context.Context, timeout time.Duration, what string, holds func() bool) error {
	err := s.loop(ctx, time.After(timeout), holds)
	if err == nil && !holds() {
		return &violation{fmt.Sprintf("waited %v in vain for %s", timeout, what)}
	}
	return err
}

// loop processes news until a timer fires, a condition holds, or an error occurs.
func (s *soak) loop(ctx context.Context, then <-chan time.Time, holds func() bool) error {
	for !holds() {
		select {
		case n := <-s.inbox:
			if err := s.hear(n); err != nil {
				return err
			}
		case <-s.progress.tick():
			s.progress.show(s)
		case <-then:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
