package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"ulnet/lnd/lndtest/netlab"
)

// member is a host, with its links and the worker that runs on it.
type member struct {
	index       int
	host        *netlab.Host
	wires       []*netlab.Wire // the host's emulated links
	hubs        []*netlab.Host // switches at the other ends of the links
	incarnation uint16
	process     *process // the present incarnation; nil while none runs
	state       memberState
}

type memberState uint8

const (
	starting memberState = iota
	running
	calmed  // after cmdCalm: the worker aborts no more operations, and its timeouts are long
	stopped // after cmdStop: the worker's traffic has ended, and no operation is in flight
	exited
)

// process is one incarnation of a worker.
type process struct {
	*netlab.Process
	stdin io.WriteCloser
}

// news is a message about an incarnation to the main loop.
type news struct {
	member      *member
	incarnation uint16
	records     []record
	notice      *notice
	silent      bool  // the journal has ended: no more records follow
	exited      bool  // the process has ended
	err         error // error of the process or of reading the journal
}

// launch starts the next incarnation of a member. News of the incarnation goes to inbox, until
// its journal has ended and its process has exited.
func (s *soak) launch(m *member) error {
	timeout := transactionTimeout
	if len(s.cfg.faults) == 0 {
		timeout = calmTimeout
	}
	cfg, err := json.Marshal(workerConfig{
		Worker: uint8(m.index), Incarnation: m.incarnation, Seed: s.cfg.seed, Networks: s.layout.networks(m.index), Routes: s.layout.routes(m.index),
		Router: s.layout.isRouter(m.index), Names: s.layout.names(), Rate: s.cfg.rate, Log: s.cfg.log,
		Abort: len(s.cfg.faults) > 0, Timeout: timeout,
	})
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.logFile(m), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	// The pipes of package exec are not suitable: exec.Cmd closes them when the process ends,
	// before all data has been read.
	stdin, in, err1 := os.Pipe()
	out, stdout, err2 := os.Pipe()
	journal, journalIn, err3 := os.Pipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	cmd := exec.Command(s.self, "worker", "--config", string(cfg))
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = stdin, stdout, log, []*os.File{journalIn}
	m.process = &process{m.host.Start(cmd), in}
	m.state = starting
	for _, f := range []*os.File{stdin, stdout, journalIn} {
		f.Close()
	}
	s.follow(m, m.process, journal, out)
	return nil
}

// follow passes news of an incarnation to the main loop until the incarnation has ended.
func (s *soak) follow(m *member, p *process, journal, out *os.File) {
	incarnation := m.incarnation
	s.open++
	tell := func(n news) {
		n.member, n.incarnation = m, incarnation
		select {
		case s.inbox <- n:
		case <-s.over:
		}
	}
	s.followers.Go(func() {
		defer journal.Close()
		err := readJournal(journal, func(r []record) { tell(news{records: r}) })
		if errors.Is(err, io.EOF) {
			err = nil
		}
		tell(news{silent: true, err: err})
	})
	s.followers.Go(func() {
		defer out.Close()
		for lines := json.NewDecoder(out); ; {
			var n notice
			if lines.Decode(&n) != nil {
				break // the output has ended, possibly in the middle of a line
			}
			tell(news{notice: &n})
		}
		tell(news{exited: true, err: p.Wait()})
		p.stdin.Close()
	})
}

// tell writes a line to a worker.
func (p *process) tell(line string) error {
	_, err := io.WriteString(p.stdin, line+"\n")
	return err
}

func (s *soak) logFile(m *member) string {
	return filepath.Join(s.dir, fmt.Sprintf("worker-%d.log", m.index))
}

// kill kills an incarnation.
func (s *soak) kill(m *member) {
	s.ledger.kill(incarnationID{uint8(m.index), m.incarnation})
	_ = m.process.Signal(syscall.SIGKILL)
	_ = m.process.Wait() // waits, so that the address and the port of the process are free
	m.process = nil
	m.incarnation++
}

// hear handles a message about an incarnation.
func (s *soak) hear(n news) error {
	for _, r := range n.records {
		if err := s.ledger.add(r); err != nil {
			return &violation{err.Error()}
		}
	}
	m := n.member
	current := m.process != nil && n.incarnation == m.incarnation
	switch {
	case n.silent:
		s.open--
		if n.err != nil && current {
			return fmt.Errorf("journal of worker %d: %w", m.index, n.err)
		}
	case n.exited && current:
		m.state = exited
		if !s.quitting || n.err != nil {
			return &violation{fmt.Sprintf("worker %d ended by itself: %v\n%s", m.index, n.err, s.tail(m))}
		}
	case n.notice != nil:
		return s.heed(m, *n.notice, current)
	}
	return nil
}

func (s *soak) heed(m *member, n notice, current bool) error {
	switch {
	case n.Kind == noticeViolation:
		return &violation{n.Text}
	case n.Kind == noticeOverdue:
		s.overdue(n.Text)
	case n.Kind == noticeState && n.State != nil:
		return s.keepState(m, n.State)
	case n.Kind == noticeReady && current:
		m.state = running
		if s.started {
			return m.process.tell(cmdStart)
		}
	case n.Kind == noticeCalm && current:
		m.state = calmed
	case n.Kind == noticeStopped && current:
		m.state = stopped
		s.ledger.incarnation(incarnationID{uint8(m.index), m.incarnation}).resends = n.Resends
	}
	return nil
}
