package socklnd

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
)

// TestDefaults compares the defaults with Lustre's.
func TestDefaults(t *testing.T) {
	d, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := d.Config().forNI(netip.MustParseAddr("127.0.0.1"), 0)
	for _, tt := range []struct {
		tunable   string
		got, want any
	}{
		{"accept", c.Accept, AcceptSecure},
		{"accept_port", c.AcceptPort, uint16(988)},
		{"accept_backlog", c.AcceptBacklog, 127},
		{"accept_timeout", c.AcceptTimeout, 5 * time.Second},
		{"sock_timeout", c.SockTimeout, 49 * time.Second},
		{"conns_per_peer", c.ConnsPerPeer, 1},
		{"min_bulk", c.MinBulk, 1024},
		{"min_reconnectms", c.MinReconnect, time.Second},
		{"max_reconnectms", c.MaxReconnect, time.Minute},
		{"keepalive", c.Keepalive, 30 * time.Second},
		{"keepalive_idle", c.KeepaliveIdle, 30 * time.Second},
		{"keepalive_intvl", c.KeepaliveInterval, 5 * time.Second},
		{"keepalive_count", c.KeepaliveCount, 5},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %v, want %v", tt.tunable, tt.got, tt.want)
		}
	}
}

func TestAcceptDefault(t *testing.T) {
	for port, want := range map[uint16]AcceptMode{0: AcceptSecure, 988: AcceptSecure, 1023: AcceptSecure, 1024: AcceptTrust} {
		if got := (Config{AcceptPort: port}).withDefaults().Accept; got != want {
			t.Errorf("port %d: %v, want %v", port, got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		names string
		cfg   Config
	}{
		{"accept", Config{Accept: "some"}},
		{"accept_backlog", Config{AcceptBacklog: -1}},
		{"accept_timeout", Config{AcceptTimeout: -1}},
		{"sock_timeout", Config{SockTimeout: -1}},
		{"conns_per_peer", Config{ConnsPerPeer: 128}},
		{"min_bulk", Config{MinBulk: -1}},
		{"min_reconnectms", Config{MinReconnect: -1}},
		{"max_reconnectms", Config{MinReconnect: 2, MaxReconnect: 1}},
		{"tos", Config{TOS: 256}},
		{"control_tos", Config{ControlTOS: 256}},
		{"max_conns", Config{MaxConns: -1}},
		{"max_conns_per_addr", Config{MaxConnsPerAddr: -1}},
		{"handshakes", Config{MaxHandshakesPerAddr: -1}},
		{"tx_buffer_size", Config{TxBufferSize: -1}},
		{"rx_buffer_size", Config{RxBufferSize: -1}},
	} {
		_, err := New(tt.cfg)
		if !errors.Is(err, errConfig) || !strings.Contains(err.Error(), tt.names) {
			t.Errorf("%+v: %v", tt.cfg, err)
		}
	}
}

// TestTimeoutOfLNet: if sock_timeout is not configured, the driver uses LNet's time-out for drivers.
func TestTimeoutOfLNet(t *testing.T) {
	for _, tt := range []struct{ sock, lnet, want time.Duration }{
		{0, 0, 49 * time.Second},
		{0, 16 * time.Second, 16 * time.Second},
		{7 * time.Second, 16 * time.Second, 7 * time.Second},
	} {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{SockTimeout: tt.sock}), func(c *lnd.Config) { c.Tunables.Timeout = tt.lnet })
		if got := h.ni.Snapshot().Tunables["sock_timeout"]; got != int(tt.want/time.Second) {
			t.Errorf("sock_timeout %v, LNet's %v: %v s in force, want %v", tt.sock, tt.lnet, got, tt.want)
		}
	}
}

// TestListenErrors checks that an error advises what to do.
func TestListenErrors(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EACCES, syscall.EADDRINUSE} {
		d, _ := New(Config{Listen: func(netip.AddrPort) (net.Listener, error) {
			return nil, os.NewSyscallError("bind", errno)
		}})
		_, err := d.Startup(lnd.Config{Interface: "127.0.0.1", Clock: machine.RealClock()}, nil)
		if !errors.Is(err, errno) || strings.Contains(err.Error(), "CAP_NET_BIND_SERVICE") != (errno == syscall.EACCES) {
			t.Errorf("%v: %v", errno, err)
		}
	}
}

// TestLogsOnce: a peer that misbehaves all day is logged once per reason.
func TestLogsOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		var text strings.Builder
		h := start(t, "10.0.0.2", n.config(Config{}), func(c *lnd.Config) {
			c.Log = slog.New(slog.NewTextHandler(&text, nil))
		})
		for range 10 {
			p := n.connect(t, "10.0.0.7:1000", "10.0.0.2:988")
			go p.send("12345678")
			p.expectEnd()
			synctest.Wait()
		}
		h.wantCount(AcceptorMagic, 10)
		if got := strings.Count(text.String(), "reason=acceptor_magic"); got != 1 {
			t.Errorf("logged %d times:\n%s", got, text.String())
		}
	})
}

func TestReasonsHaveNames(t *testing.T) {
	seen := map[string]Reason{}
	for _, r := range Reasons() {
		if other, twice := seen[r.String()]; twice || r.String() == "" {
			t.Errorf("reason %d is called %q like %d", r, r, other)
		}
		seen[r.String()] = r
	}
}
