package socklnd

import (
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
)

type sockopt struct {
	name             string
	level, opt, want int
}

// TestSocketOptions: the tunables reach the sockets of both sides.
func TestSocketOptions(t *testing.T) {
	f := newTCPFabric()
	cfg := f.config(Config{TOS: 0x28, TxBufferSize: 100000, RxBufferSize: 200000})
	a, b := start(t, "127.0.0.1", cfg), start(t, "127.0.0.2", cfg)
	a.put(b.id())
	b.wantArrivals(1)
	for _, h := range []*host{a, b} {
		defer func() {
			h.ni.SetTimeout(7 * time.Second)
			wantOptions(t, h, ksock.Control, []sockopt{{"user timeout", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 7000}})
		}()
		wantOptions(t, h, ksock.Control, []sockopt{
			{"tos", unix.IPPROTO_IP, unix.IP_TOS, 0x28},
			{"nodelay", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
			{"keepalive", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{"keepalive_idle", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 30},
			{"keepalive_intvl", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 5},
			{"keepalive_count", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 5},
			{"user timeout", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 49000},
			{"tx_buffer_size", unix.SOL_SOCKET, unix.SO_SNDBUF, 2 * 100000}, // the kernel doubles the value
			{"rx_buffer_size", unix.SOL_SOCKET, unix.SO_RCVBUF, 2 * 200000},
		})
	}
}

// TestOptionsOfSharedListener: the NIs of two nets on one address share a listener. A connection that it accepts has the
// options of the NI that the peer has dialled, and not those of the NI that opened the listener.
func TestOptionsOfSharedListener(t *testing.T) {
	for name, c := range map[string]struct {
		first  Config // configuration of the driver, and so of the first NI
		second func(*lnd.Config)
		want   []sockopt
	}{
		"time-out of LNet": {
			Config{},
			func(c *lnd.Config) { c.Tunables.Timeout = 7 * time.Second },
			[]sockopt{{"user timeout", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 7000}},
		},
		"set for the second": {
			Config{},
			func(c *lnd.Config) {
				c.LND = map[string]int{"sock_timeout": 9, "keepalive_idle": 0, "nagle": 1, "tos": 0x48, "control_tos": -1}
			},
			[]sockopt{
				{"user timeout", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 9000},
				{"keepalive", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 0},
				{"nodelay", unix.IPPROTO_TCP, unix.TCP_NODELAY, 0},
				{"tos", unix.IPPROTO_IP, unix.IP_TOS, 0x48},
			},
		},
		"set for the first": {
			Config{SockTimeout: 9 * time.Second, KeepaliveIdle: -1, Nagle: true, TOS: 0x48},
			func(c *lnd.Config) {
				c.LND = map[string]int{"sock_timeout": 0, "keepalive_idle": 20, "nagle": 0, "tos": -1, "control_tos": -1}
			},
			[]sockopt{
				{"user timeout", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 49000},
				{"keepalive", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
				{"keepalive_idle", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 20},
				{"nodelay", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
				{"tos", unix.IPPROTO_IP, unix.IP_TOS, 0},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTCPFabric()
			d, _ := startNets(t, f.config(c.first), "127.0.0.1", 0)
			second := startOn(t, d, "127.0.0.1", onNet(1), c.second)
			dialler := start(t, "127.0.0.2", f.config(Config{}), onNet(1))
			dialler.put(second.id(), pattern(4096))
			second.wantArrivals(1)
			second.awaitConns(3)
			for _, ctype := range []ksock.ConnType{ksock.Control, ksock.BulkIn, ksock.BulkOut} {
				wantOptions(t, second, ctype, c.want)
			}
		})
	}
}

// TestControlIsMarked (GO-61): CONTROL connections carry DSCP and SO_PRIORITY at both
// ends, bulk ones do not.
func TestControlIsMarked(t *testing.T) {
	spec.Covers(t, "GO-61")
	for _, tt := range []struct {
		name                                       string
		cfg                                        Config
		controlTOS, controlPrio, bulkTOS, bulkPrio int
	}{
		{"default", Config{}, 0xa0, 6, 0, 0},
		{"tos alone", Config{TOS: 0x48}, 0x48, 6, 0x48, bulkPriority(0x48)},
		{"both", Config{TOS: 0x48, ControlTOS: 0xb8, ControlPriority: 5}, 0xb8, 5, 0x48, bulkPriority(0x48)},
		{"neither", Config{ControlTOS: -1, ControlPriority: -1}, 0, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newTCPFabric()
			cfg := f.config(tt.cfg)
			a, b := start(t, "127.0.0.1", cfg), start(t, "127.0.0.2", cfg)
			a.put(b.id(), pattern(4096))
			a.put(b.id(), pattern(4096))
			b.wantArrivals(2)
			for _, h := range []*host{a, b} {
				h.awaitConns(3)
				wantOptions(t, h, ksock.Control, []sockopt{
					{"tos", unix.IPPROTO_IP, unix.IP_TOS, tt.controlTOS},
					{"priority", unix.SOL_SOCKET, unix.SO_PRIORITY, tt.controlPrio},
				})
				wantOptions(t, h, ksock.BulkOut, []sockopt{
					{"tos", unix.IPPROTO_IP, unix.IP_TOS, tt.bulkTOS},
					{"priority", unix.SOL_SOCKET, unix.SO_PRIORITY, tt.bulkPrio},
				})
			}
		})
	}
}

// TestControlIsMarkedIPv6: over IPv6, ControlTOS is the traffic class of control connections.
func TestControlIsMarkedIPv6(t *testing.T) {
	opts := Config{ControlTOS: 0xb8}.withDefaults().sockets()
	l, err := opts.listen(netip.MustParseAddrPort("[::1]:0"))
	if err != nil {
		t.Skipf("no IPv6: %v", err)
	}
	defer l.Close()
	c, err := opts.dial(t.Context(), netip.MustParseAddrPort("[::1]:0"), addrPort(l.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	opts.tuneControl(c)
	rc, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if got := getInt(t, rc, unix.IPPROTO_IPV6, unix.IPV6_TCLASS); got != 0xb8 {
		t.Errorf("traffic class %#x", got)
	}
	if got := getInt(t, rc, unix.SOL_SOCKET, unix.SO_PRIORITY); got != 6 {
		t.Errorf("priority %d", got)
	}
}

// bulkPriority is what Linux makes of a TOS (rt_tos2priority).
func bulkPriority(tos int) int {
	return [...]int{0, 0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4}[tos>>1&0xf]
}

// wantOptions checks options of the only connection of a type that h has.
func wantOptions(t *testing.T, h *host, ctype ksock.ConnType, options []sockopt) {
	t.Helper()
	p := h.ni.peers.All()[0]
	p.mu.Lock()
	i := slices.IndexFunc(p.conns, func(c *conn) bool { return c.ctype == ctype })
	rc, err := p.conns[i].net.(*net.TCPConn).SyscallConn()
	p.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range options {
		if got := getInt(t, rc, o.level, o.opt); got != o.want {
			t.Errorf("%v: %v: %s = %d, want %d", h.ni.nid, ctype, o.name, got, o.want)
		}
	}
}

func getInt(t *testing.T, rc syscall.RawConn, level, opt int) (v int) {
	t.Helper()
	var optErr error
	if err := rc.Control(func(fd uintptr) { v, optErr = unix.GetsockoptInt(int(fd), level, opt) }); err != nil || optErr != nil {
		t.Fatal(err, optErr)
	}
	return v
}
