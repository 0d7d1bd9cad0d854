//go:build linux

package installtest

import (
	"context"
	"errors"
	"maps"
	"net"
	"strings"
	"syscall"
	"time"

	"ulnet/lnd/lndtest/netlab"
)

// sockets returns inodes of sockets by their addresses: of each socket that listens for TCP connections,
// serves metrics at a path, or has the UDP port of RoCE.
func (s *system) sockets() map[string]string {
	s.t.Helper()
	inodes := map[string]string{}
	for line := range strings.Lines(s.must("cat", "/proc/net/tcp")) {
		const listens = "0A"
		if f := strings.Fields(line); len(f) > 9 && f[3] == listens {
			inodes[f[1]] = f[9]
		}
	}
	for line := range strings.Lines(s.must("cat", "/proc/net/udp")) {
		const roce = ":12B7"
		if f := strings.Fields(line); len(f) > 9 && strings.HasSuffix(f[1], roce) {
			inodes["udp "+f[1]] = f[9]
		}
	}
	for line := range strings.Lines(s.must("cat", "/proc/net/unix")) {
		if f := strings.Fields(line); len(f) == 8 && strings.HasSuffix(f[7], "/metrics.sock") {
			inodes[f[7]] = f[6]
		}
	}
	return inodes
}

// dial connects from a host to addresses again and again, until stop is called, which returns the
// errors. It is no error if the daemon accepts a connection and closes it at once: the daemon does that
// to connections from ports above 1023.
func dial(on *netlab.Host, addrs ...string) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() {
		var errs error
		for tick := time.Tick(5 * time.Millisecond); ctx.Err() == nil; <-tick {
			for _, addr := range addrs {
				errs = errors.Join(errs, on.Do(func() error {
					c, err := (&net.Dialer{Timeout: 3 * time.Minute}).Dial("tcp4", addr)
					switch {
					case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
						return nil
					case err != nil:
						return err
					}
					return c.Close()
				}))
			}
		}
		result <- errs
	}()
	return func() error { cancel(); return <-result }
}

// keeps checks that an action replaces the processes of units but keeps their listening sockets, and
// that meanwhile no connection from a host to the addresses is refused.
func (s *system) keeps(from *netlab.Host, units, addrs []string, action func()) {
	s.t.Helper()
	pids := func() (list []string) {
		for _, unit := range units {
			list = append(list, s.property("MainPID", unit))
		}
		return list
	}
	old, sockets := pids(), s.sockets()
	stop := dial(from, addrs...)
	action()
	for i, pid := range pids() {
		if pid == old[i] || pid == "0" {
			s.t.Errorf("%s: the process %s follows %s", units[i], pid, old[i])
		}
	}
	if err := stop(); err != nil {
		s.t.Error("a peer is refused: ", err)
	}
	if now := s.sockets(); !maps.Equal(sockets, now) {
		s.t.Errorf("the sockets were %v, and are %v", sockets, now)
	}
}

// restarts checks that the unit keeps its listening sockets over a restart, and when systemd starts it again
// after a crash.
func (s *system) restarts(from *netlab.Host) {
	s.t.Helper()
	s.keeps(from, []string{"lnetd"}, served, func() { s.must("systemctl", "restart", "lnetd") })
	s.keeps(from, []string{"lnetd"}, served, func() {
		restarts := s.property("NRestarts", "lnetd")
		s.must("systemctl", "kill", "--signal=KILL", "lnetd")
		s.await("started again", func() bool {
			return s.property("NRestarts", "lnetd") != restarts && s.property("ActiveState", "lnetd") == "active"
		})
	})
	s.pings("10.9.3.1@tcp", "10.9.3.2@tcp")
}
