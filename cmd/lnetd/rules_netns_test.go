//go:build linux

package main_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ulnet/cmd/internal/node"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
)

// newRailPair starts lnetd on each of two hosts that two cables connect, so that net tcp has two
// rails.
func newRailPair(t *testing.T) (a, b *lnetdtest.Daemon, cables [2]*netlab.Cable, hostA *netlab.Host) {
	t.Helper()
	lab := netlab.New(t)
	commands := lnetdtest.Build(t)
	ha, hb := lab.Host("a"), lab.Host("b")
	cables[0] = lab.Cable(ha, "10.1.0.1/24", hb, "10.1.0.2/24")
	cables[1] = lab.Cable(ha, "10.2.0.1/24", hb, "10.2.0.2/24")
	start := func(host *netlab.Host) *lnetdtest.Daemon {
		return commands.Start(t, lnetdtest.Config{Networks: "tcp(eth0),tcp1(eth1)", Port: kernelPort, Within: host.Do})
	}
	return start(ha), start(hb), cables, ha
}

// leftBy sends the given number of PUTs to the other host, and returns how many messages each NI
// of this host has sent.
func leftBy(t *testing.T, d *lnetdtest.Daemon, puts int) (counts [2]uint64) {
	t.Helper()
	before := putsOf(d)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("by which rail?"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range puts {
		lnetctl(t, d, "msg", "put", "10.1.0.2@tcp", "--portal", "20", "--match-bits", "1", "--timeout", "20s", text)
	}
	for i, n := range putsOf(d) {
		counts[i] = n - before[i]
	}
	return counts
}

func putsOf(d *lnetdtest.Daemon) (counts [2]uint64) {
	for i, ni := range d.Status().NIs[1:] { // leave out the NI 0@lo
		counts[i] = ni.Traffic.Sent.Put
	}
	return counts
}

// takeAll makes a node accept all PUTs to portal 20.
func takeAll(t *testing.T, d *lnetdtest.Daemon) {
	t.Helper()
	ready, ended := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		_ = node.OpSink.Call(ctx, d.Control(), node.SinkRequest{Portal: 20, MatchBits: 1}, func(s node.Step) error {
			if s.Ready {
				close(ready)
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	select {
	case <-ready:
	case <-ended:
		t.Fatal("the sink ended")
	}
}

// lnetctl runs a command, and fails the test if the command fails.
func lnetctl(t *testing.T, d *lnetdtest.Daemon, args ...string) string {
	t.Helper()
	out, err := d.Lnetctl(t.Context(), args...)
	if err != nil {
		t.Fatalf("lnetctl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// TestRules: selection rules choose the rail that sends messages, until its link is lost. Fault
// rules that lnetctl sets drop, delay and fail messages between two hosts.
func TestRules(t *testing.T) {
	spec.Covers(t, "UD-12", "FR-12", "FR-13")
	a, b, cables, hostA := newRailPair(t)
	lnetctl(t, a, "discover", "10.1.0.2@tcp")
	takeAll(t, b)
	if got := leftBy(t, a, 6); got[0] == 0 || got[1] == 0 {
		t.Errorf("without a rule %v PUTs left by the rails", got)
	}
	lnetctl(t, a, "udsp", "add", "--src", "tcp1", "--priority", "0")
	if got := leftBy(t, a, 6); got != [2]uint64{0, 6} {
		t.Errorf("with tcp1 preferred %v PUTs left by the rails", got)
	}
	cables[1].Pull(hostA)
	a.Until(reaction, "the NI to be down", func() bool { return a.Status().NIs[2].Status == "down" })
	// At least 3, because the push that tells the peer of the lost link is a PUT, too.
	if got := leftBy(t, a, 3); got[0] < 3 || got[1] != 0 {
		t.Errorf("when tcp1 has no carrier %v PUTs left by the rails", got)
	}
	cables[1].Plug(hostA)
	lnetctl(t, a, "udsp", "del", "--all")
	faultRules(t, a, b)
}

// someGets matches the count of a rule that has dropped GETs: the ping, and others that came meanwhile.
var someGets = regexp.MustCompile(`get: [1-9]`)

// faultRules: a rule for received messages drops pings, and a rule for sent messages makes pings
// fail at once.
func faultRules(t *testing.T, a, b *lnetdtest.Daemon) {
	t.Helper()
	lnetctl(t, b, "fault", "drop", "add", "-s", "*", "-d", "*", "-r", "1", "-m", "GET")
	if out, err := a.Lnetctl(t.Context(), "ping", "--timeout", "300ms", "10.1.0.2@tcp"); err == nil {
		t.Errorf("the ping was answered:\n%s", out)
	}
	b.Until(reaction, "the dropped ping", func() bool {
		return someGets.MatchString(lnetctl(t, b, "fault", "drop", "show"))
	})
	lnetctl(t, b, "fault", "drop", "del", "--all")
	lnetctl(t, a, "ping", "--timeout", "20s", "10.1.0.2@tcp")
	lnetctl(t, a, "fault", "drop", "add", "-s", "*", "-d", "*", "-r", "1", "-e", "remote_error")
	if out, err := a.Lnetctl(t.Context(), "ping", "--timeout", "20s", "10.1.0.2@tcp"); err == nil {
		t.Errorf("the ping was answered:\n%s", out)
	}
	lnetctl(t, a, "fault", "drop", "del", "--all")
	lnetctl(t, a, "ping", "--timeout", "20s", "10.1.0.2@tcp")
}
