//go:build linux

// Package netlab makes small networks for tests: hosts that are network
// namespaces, and switches, joined by virtual cables that a test can pull and
// spoil.
//
//	lab := netlab.New(t)
//	a, b := lab.Host("a"), lab.Host("b")
//	cable := lab.Cable(a, "10.1.0.1/24", b, "10.1.0.2/24")
//	server := b.Start(exec.CommandContext(ctx, "bin/server"))
//	cable.Pull(b)
//
// What can be done to a link:
//
//	Pull, Plug   its interface goes down, and up again
//	SetMTU       the largest packet, at both ends
//	SetRate      what leaves a host is held to a rate (tbf)
//	SetLoss      what comes to a host is lost at random (nftables);
//	             SetMulticastLoss: of multicast only
//	Spoil        delay, jitter, reordering, duplication, corruption, loss and
//	             rate, from a seed; needs a [Wire] (package netem)
//
// and what can be done to a host: [Host.Reset] makes it answer TCP with RST, [Host.Block]
// makes it drop packets from some addresses, and a [Process] takes signals, SIGKILL and
// SIGSTOP among them.
//
// Namespaces have no name in the file system and exist as long as the test holds them, so none
// is left even when the test process is killed. Making them needs privilege. Without it New
// skips the test and says why, even on a build machine: one can install a missing tool there,
// but cannot change a kernel that refuses namespaces, as many containers do. Linux only.
//
// netlab is for tests, and with [Perform] for programs that test. It never
// touches the namespace of its caller. Every failure ends the test. A Lab is for
// one goroutine.
package netlab

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// T is what netlab needs of a test; a *testing.T is one. Fatalf and Skipf do
// not return.
type T interface {
	Helper()
	Cleanup(f func())
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Lab is a set of hosts that ends with its test.
type Lab struct{ t T }

// New returns an empty lab, or skips the test where the kernel or the lack of
// privilege does not permit one.
func New(t T) *Lab {
	t.Helper()
	if err := Possible(); err != nil {
		t.Skipf("no network namespaces with virtual cables here: %v", err)
	}
	return &Lab{t: t}
}

// Possible returns nil if this process may make labs, and otherwise the reason why it may not.
func Possible() error {
	ns, err := newNamespace()
	if err == nil {
		err = within(ns, func() error {
			cable := netlink.NewVeth(netlink.LinkAttrs{Name: "probe0"})
			cable.PeerName = "probe1"
			return netlink.LinkAdd(cable)
		})
		ns.Close()
	}
	return err
}

// Host is one network namespace with its loopback interface up.
type Host struct {
	name  string
	t     T
	ns    *os.File
	links int // number of cables so far; interfaces are named eth0, eth1, …
}

// Host adds a host; name appears in error messages.
func (l *Lab) Host(name string) *Host {
	l.t.Helper()
	ns, err := newNamespace()
	if err != nil {
		l.t.Fatalf("host %s: %v", name, err)
	}
	l.t.Cleanup(func() { ns.Close() })
	h := &Host{name: name, t: l.t, ns: ns}
	h.must("lo up", func() error { return setLink("lo", true) })
	return h
}

// Do runs f with the calling thread inside the host. A socket that f opens stays there for
// its lifetime. Code of f in other goroutines runs outside: to dial, use a net.Dialer with an
// address of one family, not a name.
func (h *Host) Do(f func() error) error { return within(h.ns, f) }

// Start starts cmd inside the host. If the program still runs when the test ends, it is killed,
// and its end is awaited.
func (h *Host) Start(cmd *exec.Cmd) *Process {
	h.t.Helper()
	h.must("start "+cmd.Path, cmd.Start)
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	h.t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if the program has already ended
		<-p.done
	})
	return p
}

// Process is a program that runs inside a host.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // exit error of the program; set before done is closed
}

// Signal sends the program a signal.
func (p *Process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// Wait waits for the program's end and returns what exec.Cmd.Wait says.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

func (h *Host) must(what string, f func() error) {
	h.t.Helper()
	if err := h.Do(f); err != nil {
		h.t.Fatalf("host %s: %s: %v", h.name, what, err)
	}
}

// newNamespace makes a network namespace and returns the file that holds it.
func newNamespace() (*os.File, error) {
	var ns *os.File
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		var err error
		ns, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	return ns, err
}

// within runs f on a thread inside the namespace.
func within(ns *os.File, f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("setns: %w", err)
		}
		return f()
	})
}

// onThread runs f in a goroutine whose thread ends with it, so that the namespace that f enters
// is never seen by other goroutines. If the goroutine has the process's first thread, which
// cannot end, the Go runtime keeps that thread asleep for ever.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		done <- f()
	}()
	return <-done
}
