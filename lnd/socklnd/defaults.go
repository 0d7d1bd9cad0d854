package socklnd

import (
	"cmp"
	"fmt"
	"net/netip"
	"time"

	"ulnet/lnd"
)

// withDefaults returns c with every zero field replaced by its default, except the fields whose
// defaults depend on the NI: see forNI.
func (c Config) withDefaults() Config {
	c.AcceptPort = cmp.Or(c.AcceptPort, 988)
	if c.Accept == "" {
		c.Accept = AcceptSecure
		if c.AcceptPort > maxPrivilegedPort {
			c.Accept = AcceptTrust
		}
	}
	c.SourceAddress = cmp.Or(c.SourceAddress, SourceAddressCheck)
	c.AcceptBacklog = cmp.Or(c.AcceptBacklog, 127)
	c.AcceptTimeout = cmp.Or(c.AcceptTimeout, 5*time.Second)
	grows := c.MaxReconnect == 0
	lnd.SetDefaults(c.Tunables())
	if grows {
		c.MaxReconnect = max(c.MaxReconnect, c.MinReconnect)
	}
	c.MaxHandshakes = cmp.Or(c.MaxHandshakes, 1024)
	c.MaxHandshakesPerAddr = cmp.Or(c.MaxHandshakesPerAddr, 256)
	c.MulticastBase = cmp.Or(c.MulticastBase, defaultBase4)
	c.MulticastBase6 = cmp.Or(c.MulticastBase6, defaultBase6)
	c.MulticastPort = cmp.Or(c.MulticastPort, multicastPortFor(c.AcceptPort))
	c.MulticastTTL = cmp.Or(c.MulticastTTL, 1)
	c.MulticastRxBuffer = cmp.Or(c.MulticastRxBuffer, 4<<20)
	c.ControlTOS = cmp.Or(c.ControlTOS, c.TOS, classCS5)
	if c.LinkSpeed == nil {
		c.LinkSpeed = linkSpeed
	}
	return c
}

// classCS5 is the TOS byte of DSCP CS5, "signaling".
const classCS5 = 40 << 2

// prioInteractive is TC_PRIO_INTERACTIVE; Linux's default queue (pfifo_fast) sends its packets
// first.
const prioInteractive = 6

// defaultTimeout is the value of lnet_lnd_timeout with LNet's defaults.
const defaultTimeout = 49 * time.Second

// forNI returns c, whose other defaults are set already, with the defaults that depend on the NI: on
// its address and on LNet's time-out for drivers.
func (c Config) forNI(addr netip.Addr, timeout time.Duration) Config {
	c.SockTimeout = cmp.Or(c.SockTimeout, timeout, defaultTimeout)
	if c.ConnsPerPeer == 0 {
		c.ConnsPerPeer = connsForSpeed(c.LinkSpeed(addr))
	}
	return c.withSockets()
}

// override returns c, whose defaults are set already, with the values of the tunables that were set for one NI.
func (c Config) override(values map[string]int) (Config, error) {
	derived := c.ControlTOS == cmp.Or(c.TOS, classCS5)
	if err := lnd.Override(c.Tunables(), values); err != nil {
		return c, fmt.Errorf("%w: %w", errConfig, err)
	}
	if _, own := values["control_tos"]; derived && !own {
		c.ControlTOS = cmp.Or(c.TOS, classCS5)
	}
	return c, nil
}
