//go:build linux

package netlab_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/netlab"
)

// pair makes two hosts that a cable connects.
func pair(t *testing.T) (a, b *netlab.Host, cable *netlab.Cable) {
	lab := netlab.New(t)
	a, b = lab.Host("a"), lab.Host("b")
	return a, b, lab.Cable(a, "10.1.0.1/24", b, "10.1.0.2/24")
}

func listen(t *testing.T, h *netlab.Host, addr string) net.Listener {
	t.Helper()
	var l net.Listener
	err := h.Do(func() (err error) {
		l, err = net.Listen("tcp", addr)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func dial(ctx context.Context, h *netlab.Host, addr string) (net.Conn, error) {
	var c net.Conn
	err := h.Do(func() (err error) {
		c, err = new(net.Dialer).DialContext(ctx, "tcp", addr)
		return err
	})
	return c, err
}

func TestHostsReachEachOther(t *testing.T) {
	tests := []struct{ name, addrA, addrB, listen string }{
		{"IPv4", "10.1.0.1/24", "10.1.0.2/24", "10.1.0.2:0"},
		{"IPv6", "fd00:1::1/64", "fd00:1::2/64", "[fd00:1::2]:0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lab := netlab.New(t)
			a, b := lab.Host("a"), lab.Host("b")
			lab.Cable(a, tt.addrA, b, tt.addrB)
			l := listen(t, b, tt.listen)
			go func() {
				if c, err := l.Accept(); err == nil {
					io.WriteString(c, "hello")
					c.Close()
				}
			}()
			c, err := dial(t.Context(), a, l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(c)
			if err != nil || string(got) != "hello" {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}
}

func TestHostsAreIsolated(t *testing.T) {
	a, b, _ := pair(t)
	l := listen(t, b, "127.0.0.1:0")
	if c, err := dial(t.Context(), a, l.Addr().String()); err == nil {
		c.Close()
		t.Error("host a reached the loopback address of host b")
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("the test's own namespace reached the loopback address of host b")
	}
}

func TestPulledCable(t *testing.T) {
	a, b, cable := pair(t)
	l := listen(t, b, "10.1.0.2:0")

	cable.Pull(a)
	if _, err := dial(t.Context(), a, l.Addr().String()); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("own end down: got %v, want ENETUNREACH", err)
	}
	cable.Plug(a)
	if _, err := dial(t.Context(), a, l.Addr().String()); err != nil {
		t.Errorf("plugged again: %v", err)
	}
	cable.Pull(b)
	if _, err := dial(t.Context(), a, l.Addr().String()); !errors.Is(err, syscall.EHOSTUNREACH) {
		t.Errorf("other end down: got %v, want EHOSTUNREACH", err)
	}
}

// TestProcess: a program that is started in a host (here this test binary) sees the network interface of
// that host.
func TestProcess(t *testing.T) {
	if os.Getenv("NETLAB_CHILD") != "" {
		i, err := net.InterfaceByName("eth0")
		if err != nil {
			t.Fatal(err)
		}
		addrs, _ := i.Addrs()
		os.Stdout.WriteString("child has " + addrs[0].String() + "\n")
		return
	}
	_, b, _ := pair(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestProcess$")
	cmd.Env = append(os.Environ(), "NETLAB_CHILD=1")
	cmd.Stdout = &out
	p := b.Start(cmd)
	if err := p.Wait(); err != nil {
		t.Fatalf("child: %v\n%s", err, &out)
	}
	if !strings.Contains(out.String(), "child has 10.1.0.2/24") {
		t.Errorf("child printed %q", &out)
	}
}

func TestProcessEndsWithItsContext(t *testing.T) {
	a, _, _ := pair(t)
	ctx, cancel := context.WithCancel(t.Context())
	p := a.Start(exec.CommandContext(ctx, "sleep", "infinity"))
	cancel()
	exit, ok := errors.AsType[*exec.ExitError](p.Wait())
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("got %v, want an end by SIGKILL", exit)
	}
}
