package drivers_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ulnet/cmd/internal/config"
	"ulnet/lnd"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/verbs/softroce"
)

// notOpen makes cmp ignore the field Open, a function, which cannot be compared.
var notOpen = cmpopts.IgnoreFields(o2iblnd.Config{}, "Open")

// TestO2IBTunablesReachTheDriver: the driver gets the values that the configuration file sets, in the fields
// and units that these tunables and settings have. TestEachTunableReachesItsDriver is about all tunables.
func TestO2IBTunablesReachTheDriver(t *testing.T) {
	text := `
lnet_transaction_timeout: 50
peer_credits: 1
credits: 2
multicast: 0
multicast_base: 239.20.0.0
o2ib:
  provider: softroce
  service: 3
  peer_timeout: 4
  peer_credits: 25
  peer_buffer_credits: 5
  credits: 26
  peer_credits_hiw: 6
  concurrent_sends: 7
  conns_per_peer: 8
  ntx: 9
  timeout: 10
  keepalive: 0
  retry_count: 0
  rnr_retry_count: 7
  ib_mtu: 512
  tos: 11
  use_privileged_port: 0
  require_privileged_port: 1
  wrq_sge: 12
  cksum: 1
  rx_buffers: 13
  rx_buffer_size: 14
  max_conns: 15
`
	c, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := o2iblnd.Config{
		Service: 3, PeerCreditsHIW: 6, ConcurrentSends: 7, ConnsPerPeer: 8, NTX: 9, Timeout: 10 * time.Second,
		Keepalive: -1, RetryCount: -1, RNRRetryCount: 7, IBMTU: 512, TOS: 11, UnprivilegedPort: true,
		RequirePrivilegedPort: true, WrqSGE: 12, Cksum: true, RxBuffers: 13, ReceiveBuffer: 14, MaxConns: 15,
		NoMulticast: true, MulticastBase: netip.MustParseAddr("239.20.0.0"),
	}
	lnd.SetDefaults(want.Tunables()) // for tunables that the text above does not set
	got := added(c).O2IB
	if diff := cmp.Diff(want, got, notOpen, sameAddr); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	tunables := lnd.Tunables{PeerTimeout: 4 * time.Second, PeerCredits: 25, PeerBufferCredits: 5, Credits: 26}
	if got := c.O2IB.NI(c.LND()); got != tunables {
		t.Errorf("tunables %+v, want %+v", got, tunables)
	}
	if got := c.LND(); got.PeerCredits != 1 || got.Credits != 2 {
		t.Errorf("those of TCP: %+v", got)
	}
}

// TestO2IBDefaultsAreTheDrivers: without values in the file the driver uses its own defaults,
// and those of the tunables that all drivers have.
func TestO2IBDefaultsAreTheDrivers(t *testing.T) {
	c := config.Default()
	bare, err := o2iblnd.New(o2iblnd.Config{Open: softroce.Open})
	if err != nil {
		t.Fatal(err)
	}
	configured, err := o2iblnd.New(added(c).O2IB)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bare.Config(), configured.Config(), notOpen, sameAddr); diff != "" {
		t.Errorf("-driver +configured\n%s", diff)
	}
	if got, want := c.O2IB.NI(c.LND()), c.LND(); got != want {
		t.Errorf("tunables %+v, want %+v", got, want)
	}
}
