package socklnd

import (
	"errors"
	"fmt"
	"net/netip"

	"ulnet/lnd"
)

// errConfig is wrapped by every error that refuses a Config.
var errConfig = errors.New("socklnd: bad configuration")

// Validate reports the first field whose value makes no sense. Zero fields
// are fine.
func (c Config) Validate() error {
	for _, f := range []struct {
		tunable string
		value   any
		ok      bool
	}{
		{"accept (want secure, all, none or trust)", c.Accept, c.Accept.known()},
		{"source_address (want check or off)", c.SourceAddress, c.SourceAddress.known()},
		{"accept_backlog", c.AcceptBacklog, c.AcceptBacklog >= 0},
		{"accept_timeout", c.AcceptTimeout, c.AcceptTimeout >= 0},
		{"max_reconnectms", c.MaxReconnect, c.MaxReconnect == 0 || c.MaxReconnect >= max(c.MinReconnect, 0)},
		{"handshakes", c.MaxHandshakes, c.MaxHandshakes >= 0},
		{"handshakes of one address", c.MaxHandshakesPerAddr, c.MaxHandshakesPerAddr >= 0},
		{"multicast_base (want 224.1.0.0 to 239.255.0.0, ending in 0.0)", c.MulticastBase, c.MulticastBase == netip.Addr{} || validBase(c.MulticastBase, true)},
		{"multicast_base6 (want a multicast address ending in :0)", c.MulticastBase6, c.MulticastBase6 == netip.Addr{} || validBase(c.MulticastBase6, false)},
		{"multicast_port (4791 is RoCE's)", c.MulticastPort, c.MulticastPort != rocePort},
		{"multicast_ttl", c.MulticastTTL, c.MulticastTTL >= 0 && c.MulticastTTL <= 255},
		{"multicast_rx_buffer_size", c.MulticastRxBuffer, c.MulticastRxBuffer >= 0},
	} {
		if !f.ok {
			return fmt.Errorf("%w: %s: %v", errConfig, f.tunable, f.value)
		}
	}
	if err := lnd.CheckTunables(c.Tunables()); err != nil {
		return fmt.Errorf("%w: %w", errConfig, err)
	}
	return nil
}
