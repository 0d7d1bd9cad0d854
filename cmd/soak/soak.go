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

// How long things may take that are none of LNet's business.
const (
	startTimeout = 30 * time.Second
	// stopTimeout is longer than a worker's own patience, twice.
	stopTimeout = 2*patience + 10*time.Second
	quitTimeout = 2*patience + 10*time.Second
	// restTime is how long nothing happens when nothing is on its way.
	restTime = time.Second
)

// soakConfig is what the command line says.
type soakConfig struct {
	length  time.Duration
	net     network
	seed    uint64
	hosts   int
	rate    int // operations per second and worker
	faults  []faultKind
	ipv6    bool
	log     slog.Level
	keep    bool
	command string // that repeats the run
}

// soak is one run. Everything but inbox belongs to the goroutine of run.
type soak struct {
	cfg       soakConfig
	self      string // our program
	dir       string // logs
	progress  *progress
	addresses []string
	hub       *netlab.Host // the switch
	members   []*member
	began     time.Time
	started   bool // all workers run; those that begin a new incarnation start at once
	quitting  bool // workers have been told to quit

	ledger *ledger
	counts [faultKinds]faultCount
	since  map[*fault]time.Time // when those began that are on
	notes  *os.File             // what was done, with times

	inbox     chan news
	over      chan struct{} // closed when nobody reads inbox any more
	open      int           // journals that have not ended
	followers sync.WaitGroup
}

type faultCount struct {
	Times   int     `json:"times"`
	Seconds float64 `json:"seconds"`
}

// runSoak runs the soak and returns what happened, also with an error.
func runSoak(ctx context.Context, cfg soakConfig, stderr io.Writer) (*report, error) {
	s := &soak{
		cfg: cfg, ledger: newLedger(), since: make(map[*fault]time.Time), inbox: make(chan news, 256), over: make(chan struct{}), began: time.Now(),
		progress: newProgress(stderr),
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
		// Before the lab goes: those who follow the workers end after them.
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

// build makes the hosts, each with a wire to the switch.
func (s *soak) build(t netlab.T) {
	lab := netlab.New(t)
	s.hub = lab.Switch("switch")
	network := netip.MustParsePrefix("10.77.0.0/24")
	if s.cfg.ipv6 {
		network = netip.MustParsePrefix("fd77::/64")
	}
	addr := network.Addr()
	for i := range s.cfg.hosts {
		addr = addr.Next()
		m := &member{index: i, host: lab.Host(fmt.Sprintf("host %d", i))}
		m.wire = lab.Wire(m.host, netip.PrefixFrom(addr, network.Bits()).String(), s.hub, "", s.cfg.seed+uint64(i))
		m.wire.SetMTU(usualMTU)
		s.members = append(s.members, m)
		s.addresses = append(s.addresses, addr.String())
	}
}

func (s *soak) run(ctx context.Context) error {
	for _, m := range s.members {
		if err := s.launch(m); err != nil {
			return err
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
	for _, a := range actions(newPlan(s.cfg.seed, s.cfg.hosts, s.cfg.length, s.cfg.faults)) {
		if err := s.until(ctx, a.at); err != nil {
			return err
		}
		if err := s.carryOut(a); err != nil {
			return err
		}
	}
	if err := s.until(ctx, s.cfg.length); err != nil {
		return err
	}
	return s.finish(ctx)
}

// finish lets everything come to rest and checks that nothing is left.
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
	if err := s.ledger.finish(len(s.cfg.faults) == 0); err != nil {
		return &violation{err.Error()}
	}
	return nil
}

// tellAll tells the workers something and awaits that all are in a state.
func (s *soak) tellAll(ctx context.Context, line string, timeout time.Duration, state memberState) error {
	s.note("tells workers to %s", line)
	for _, m := range s.members {
		if err := m.process.tell(line); err != nil {
			return err
		}
	}
	return s.await(ctx, timeout, "workers to "+line, s.all(state))
}

// rest waits until nothing arrives any more: a PUT without ACK is over for its
// sender when it is on its way.
func (s *soak) rest(ctx context.Context) error {
	for before := -1; before != s.ledger.taken; {
		before = s.ledger.taken
		if err := s.loop(ctx, time.After(restTime), func() bool { return false }); err != nil {
			return err
		}
	}
	return nil
}

// all is the condition that every member is at least in a state.
func (s *soak) all(state memberState) func() bool {
	return func() bool {
		return !slices.ContainsFunc(s.members, func(m *member) bool { return m.state < state })
	}
}

// until keeps the books until an instant since the beginning.
func (s *soak) until(ctx context.Context, at time.Duration) error {
	return s.loop(ctx, time.After(time.Until(s.began.Add(at))), func() bool { return false })
}

// await keeps the books until a condition holds.
func (s *soak) await(ctx context.Context, timeout time.Duration, what string, holds func() bool) error {
	err := s.loop(ctx, time.After(timeout), holds)
	if err == nil && !holds() {
		return &violation{fmt.Sprintf("waited %v in vain for %s", timeout, what)}
	}
	return err
}

// loop keeps the books until then, a condition, or an error.
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
