package o2iblnd

import (
	"errors"
	"fmt"
	"net/netip"

	"ulnet/lnd"
)

// errConfig is wrapped by every error that refuses a Config.
var errConfig = errors.New("o2iblnd: bad configuration")

// Validate reports the first field whose value makes no sense. Zero fields are valid, except for Open,
// which is required.
func (c Config) Validate() error {
	if c.Open == nil {
		return fmt.Errorf("%w: no provider: set Open to softroce.Open or ibv.Open", errConfig)
	}
	for _, f := range []struct {
		tunable, want string
		value         any
		ok            bool
	}{
		{"mtu", "256, 512, 1024, 2048 or 4096", c.MTU, validMTU(c.MTU)},
		{"multicast_base", "224.1.0.0 to 239.255.0.0, ending in 0.0", c.MulticastBase, c.MulticastBase == netip.Addr{} || validBase(c.MulticastBase)},
		{"multicast_qkey", "below 0x80000000", c.MulticastQKey, c.MulticastQKey>>31 == 0},
		{"multicast_buffers", "a number of buffers", c.MulticastBuffers, c.MulticastBuffers >= 0},
	} {
		if !f.ok {
			return fmt.Errorf("%w: %s is %v: want %s", errConfig, f.tunable, f.value, f.want)
		}
	}
	if err := lnd.CheckTunables(c.Tunables()); err != nil {
		return fmt.Errorf("%w: %w", errConfig, err)
	}
	return nil
}

func validMTU(n int) bool {
	return n == 0 || n == 256 || n == 512 || n == 1024 || n == 2048 || n == 4096
}
