//go:build linux

package transcript

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/netlab"
)

// A Stage has the hosts of a transcript, with their daemons. Its methods end the test if they
// fail.
type Stage struct {
	T     *testing.T              // the test, which ends all daemons
	Bin   string                  // folder with the commands
	Dir   string                  // folder for sockets, logs and state
	Hosts map[string]*netlab.Host // the hosts, by their names in the transcript

	daemons map[string]*daemon // by host: the daemons that run
}

// daemon is an lnetd that was started.
type daemon struct {
	*netlab.Process
	ended chan struct{} // closed when it has ended
	err   error         // how it ended; read it after ended is closed
}

// startLimit bounds the time until a daemon answers.
const startLimit = 2 * time.Minute

// NewStage returns a stage without hosts and daemons.
func NewStage(t *testing.T, bin string) *Stage {
	t.Helper()
	return &Stage{T: t, Bin: bin, Dir: t.TempDir(), Hosts: map[string]*netlab.Host{}, daemons: map[string]*daemon{}}
}

// Socket returns the control socket of a host's daemon.
func (s *Stage) Socket(host string) string { return filepath.Join(s.Dir, host+".sock") }

// Start starts the daemon of a host with networks and further settings, and waits until it answers.
func (s *Stage) Start(host, networks, settings string) {
	s.T.Helper()
	file := filepath.Join(s.Dir, host+".yaml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		s.T.Fatal(err)
	}
	s.Launch(host, "--config", file, "--networks", networks)
	if !s.Answers(host) {
		s.T.Fatalf("lnetd of %s has ended\n%s", host, s.log(host))
	}
}

// Launch starts the daemon of a host.
func (s *Stage) Launch(host string, args ...string) {
	s.T.Helper()
	at := filepath.Join(s.Dir, host)
	log, err := os.OpenFile(at+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		s.T.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(s.Bin, "lnetd"), slices.Concat([]string{"--socket", s.Socket(host), "--state-dir", at + ".state", "--runtime-dir", at + ".run"}, args)...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = log
	d := &daemon{Process: s.Hosts[host].Start(cmd), ended: make(chan struct{})}
	s.daemons[host] = d
	go func() {
		defer close(d.ended)
		d.err = d.Wait()
	}()
}

// Stop ends the daemon of a host, if one runs. An error says that the daemon did not end well.
func (s *Stage) Stop(host string) error {
	d := s.daemons[host]
	if d == nil {
		return nil
	}
	delete(s.daemons, host)
	_ = d.Signal(syscall.SIGTERM) // an error means that it has ended already
	<-d.ended
	return d.err
}

// Kill kills the daemon of a host, so that it cannot notify its peers.
func (s *Stage) Kill(host string) {
	s.T.Helper()
	d := s.daemons[host]
	delete(s.daemons, host)
	if err := d.Signal(syscall.SIGKILL); err != nil {
		s.T.Fatalf("lnetd of %s: %v", host, err)
	}
	<-d.ended
}

// Answers waits until the daemon of a host answers, and returns true. If the daemon ends first, it
// returns false.
func (s *Stage) Answers(host string) bool {
	s.T.Helper()
	client := control.NewClient(s.Socket(host))
	limit := time.After(startLimit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := node.OpStatus.Call(s.T.Context(), client, control.None{}); err == nil {
			return true
		}
		select {
		case <-tick.C:
		case <-s.daemons[host].ended:
			delete(s.daemons, host)
			return false
		case <-limit:
			s.T.Fatalf("lnetd of %s does not answer\n%s", host, s.log(host))
		}
	}
}

// log returns what the daemon of a host has logged.
func (s *Stage) log(host string) string {
	text, err := os.ReadFile(filepath.Join(s.Dir, host+".log"))
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(text)
}
