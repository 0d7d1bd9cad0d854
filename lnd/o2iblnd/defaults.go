package o2iblnd

import (
	"cmp"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/verbs"
)

// withDefaults returns c with every zero field replaced by its default, except the fields whose
// defaults depend on the NI: see forNI.
func (c Config) withDefaults() Config {
	lnd.SetDefaults(c.Tunables())
	c.ReceiveBuffer = cmp.Or(c.ReceiveBuffer, receiveBuffer)
	c.MulticastBase = cmp.Or(c.MulticastBase, defaultBase)
	c.MulticastQKey = cmp.Or(c.MulticastQKey, defaultQKey)
	c.MulticastBuffers = cmp.Or(c.MulticastBuffers, 512)
	c.FirstCookie = cmp.Or(c.FirstCookie, 1)
	return c
}

// forNI returns c with the defaults that depend on the NI. Negative retry counts, by which a user asks for no retries,
// become 0.
// The other defaults must be set already, but tunables that were set for this NI alone may be 0.
func (c Config) forNI(t lnd.Tunables, attr verbs.DeviceAttr) Config {
	credits := peerCredits(t)
	c.PeerCreditsHIW = min(max(cmp.Or(c.PeerCreditsHIW, credits/2), credits/2), credits-1)
	c.ConcurrentSends = min(max(cmp.Or(c.ConcurrentSends, credits), credits/2), 2*credits)
	c.Timeout = cmp.Or(c.Timeout, cmp.Or(t.Timeout, defaultTimeout))
	c.WrqSGE = max(min(cmp.Or(c.WrqSGE, attr.SGEs), attr.SGEs), 1)
	c.RetryCount, c.RNRRetryCount = max(c.RetryCount, 0), max(c.RNRRetryCount, 0)
	c.ReceiveBuffer = cmp.Or(c.ReceiveBuffer, receiveBuffer)
	return c
}

// peerCredits is the queue depth that the NI asks for (kiblnd_tunables_setup).
func peerCredits(t lnd.Tunables) int {
	t = t.WithDefaults()
	return max(min(t.PeerCredits, maxPeerCredits), minPeerCredits)
}

const (
	// defaultTimeout is the value of lnet_lnd_timeout with LNet's defaults.
	defaultTimeout = 49 * time.Second
	receiveBuffer  = 4 << 20 // default of rx_buffer_size
)
