package drivers_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ulnet/cmd/internal/config"
	"ulnet/lnd"
	"ulnet/lnd/socklnd"
	"ulnet/portals/node"
)

// TestTunablesReachTheDriver: the driver gets the values that the configuration file sets, in the fields and
// units that these tunables and settings have. TestEachTunableReachesItsDriver is about all tunables.
func TestTunablesReachTheDriver(t *testing.T) {
	text := `
lnet_transaction_timeout: 50
accept: all
accept_port: 1
accept_backlog: 2
accept_timeout: 3
source_address: off
sock_timeout: 4
conns_per_peer: 5
typed_conns: 0
min_bulk: 6
round_robin: 0
min_reconnectms: 7
max_reconnectms: 8
keepalive: 0
keepalive_idle: 9
keepalive_count: 10
keepalive_intvl: 11
protocol: 2
enable_csum: 1
inject_csum_error: 1
nagle: 1
tos: 12
tx_buffer_size: 13
rx_buffer_size: 14
control_tos: 15
control_priority: 0
max_conns: 16
max_conns_per_addr: 17
busy_poll: 18
multicast: 0
multicast_port: 1900
multicast_base: 239.20.0.0
multicast_base6: ff18::21:0
multicast_ttl: 22
multicast_rx_buffer_size: 23
`
	c, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := socklnd.Config{
		Accept: socklnd.AcceptAll, AcceptPort: 1, AcceptBacklog: 2, AcceptTimeout: 3 * time.Second,
		SourceAddress: socklnd.SourceAddressOff,
		SockTimeout:   4 * time.Second, ConnsPerPeer: 5, Untyped: true, MinBulk: 6, FirstIdle: true,
		MinReconnect: 7 * time.Millisecond, MaxReconnect: 8 * time.Millisecond,
		Keepalive: -1, KeepaliveIdle: 9 * time.Second, KeepaliveCount: 10, KeepaliveInterval: 11 * time.Second,
		Protocol: 2, Checksum: true, InjectChecksumError: true, Nagle: true, TOS: 12, TxBufferSize: 13, RxBufferSize: 14,
		ControlTOS: 15, ControlPriority: -1, MaxConns: 16, MaxConnsPerAddr: 17, BusyPoll: 18 * time.Microsecond,
		NoMulticast: true, MulticastPort: 1900, MulticastBase: netip.MustParseAddr("239.20.0.0"),
		MulticastBase6: netip.MustParseAddr("ff18::21:0"), MulticastTTL: 22, MulticastRxBuffer: 23,
	}
	lnd.SetDefaults(want.Tunables()) // for tunables that the text above does not set
	if diff := cmp.Diff(want, added(c).TCP, cmpopts.IgnoreFields(socklnd.Config{}, "Listen", "Dial", "LinkSpeed"), sameAddr); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := lnd.Timeout(c.TransactionTimeout, c.RetryCount); got != 16*time.Second {
		t.Errorf("LNet lets a driver try for %v, want 16 s", got)
	}
}

// TestDefaultsAreTheDrivers: without values in the file the driver uses its own defaults.
func TestDefaultsAreTheDrivers(t *testing.T) {
	c := config.Default()
	bare, err := socklnd.New(socklnd.Config{})
	if err != nil {
		t.Fatal(err)
	}
	configured, err := socklnd.New(added(c).TCP)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bare.Config(), configured.Config(), cmpopts.IgnoreFields(socklnd.Config{}, "Listen", "Dial", "LinkSpeed"), sameAddr); diff != "" {
		t.Errorf("-driver +configured\n%s", diff)
	}
	if got, want := c.LND(), (lnd.Tunables{}.WithDefaults()); got != want {
		t.Errorf("tunables %+v, want %+v", got, want)
	}
}

// added returns the configuration of a node to which the drivers of c have added themselves.
func added(c config.Config) (to node.Config) {
	for _, d := range c.All() {
		d.Add(&to, c.Settings, nil)
	}
	return to
}

// sameAddr compares addresses, whose fields are not exported.
var sameAddr = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
