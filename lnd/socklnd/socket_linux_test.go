package socklnd

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSocketOptions: the tunables reach the sockets of both sides.
func TestSocketOptions(t *testing.T) {
	f := newTCPFabric()
	cfg := f.config(Config{TOS: 0x28, TxBufferSize: 100000, RxBufferSize: 200000})
	a := start(t, "127.0.0.1", cfg)
	b := start(t, "127.0.0.2", cfg)
	a.put(b.id())
	b.wantArrivals(1)
	for _, h := range []*host{a, b} {
		p := h.ni.allPeers()[0]
		p.mu.Lock()
		rc, err := p.conns[0].net.(*net.TCPConn).SyscallConn()
		p.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name             string
			level, opt, want int
		}{
			{"tos", unix.IPPROTO_IP, unix.IP_TOS, 0x28},
			{"nodelay", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
			{"keepalive", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{"keepalive_idle", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 30},
			{"keepalive_intvl", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 5},
			{"keepalive_count", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 5},
			{"user timeout", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 50000},
			{"tx_buffer_size", unix.SOL_SOCKET, unix.SO_SNDBUF, 2 * 100000}, // the kernel doubles it
			{"rx_buffer_size", unix.SOL_SOCKET, unix.SO_RCVBUF, 2 * 200000},
		} {
			if got := getInt(t, rc, tt.level, tt.opt); got != tt.want {
				t.Errorf("%v: %s = %d, want %d", h.ni.nid, tt.name, got, tt.want)
			}
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
