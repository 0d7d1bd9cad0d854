package o2iblnd

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/verbs"
)

// Config holds the tunables of o2iblnd under Lustre's names (o2iblnd-wire §12). The zero value of
// a field means its default. peer_credits, credits and peer_timeout are those of lnd.Tunables;
// like kernels, the driver limits peer_credits to 8 to 255.
//
// Tunables without a field have nothing to tune here: map_on_demand,
// fmr_pool_size, fmr_flush_trigger, fmr_cache and dev_failover are about the ways in
// which kernels register memory, nscheds about their threads.
type Config struct {
	// Open opens the device of an address: softroce.Open or ibv.Open. Required.
	Open verbs.Opener

	Service         uint16 // service, default 987: the port of the connection manager
	PeerCreditsHIW  int    // peer_credits_hiw, default half of peer_credits: when a peer is owed so many credits, a NOOP returns them
	ConcurrentSends int    // concurrent_sends, default peer_credits: most sends of a connection that are posted and not completed
	ConnsPerPeer    int    // conns_per_peer: default 1, at most 127
	NTX             int    // ntx, 512: bound of the NI's messages under way, which each connection raises by three times its queue depth

	// Timeout (timeout) is how long a message may wait, for credits, for its completion and for the
	// peer's answer. The driver may notice a timeout late, by a quarter of this time at most. 0:
	// lnd.Tunables.Timeout, 49 s with LNet's defaults.
	Timeout time.Duration
	// RetryCount (retry_count, 5) is how often a queue pair retransmits a packet without an
	// answer, 1 to 7; negative: 0.
	RetryCount int
	// RNRRetryCount (rnr_retry_count, 6) is how often a queue pair repeats a SEND for which the
	// peer has no buffer, 1 to 7; 7: without end; negative: 0.
	RNRRetryCount int
	Keepalive     time.Duration // keepalive, default 100 s: a connection that has sent nothing for so long sends a NOOP; negative: never
	IBMTU         int           // ib_mtu of connections that this side opens, 256 to 4096; 0: that of the path
	TOS           int           // tos, 0 to 255: type of service of all packets of connections that this side opens

	UnprivilegedPort      bool // use_privileged_port=0: connections claim a port above 1023
	RequirePrivilegedPort bool // require_privileged_port: refuse peers that claim a port above 1023

	// WrqSGE (wrq_sge) is how many pieces of memory a WRITE gathers. 0: as many as the
	// device can; kernels have 2.
	WrqSGE int
	// Cksum (cksum) adds checksums to messages. Kernels compute them in two ways, and a kernel
	// ends the connection if a checksum is computed in the other way. So this side sends none
	// before the peer has sent one, and then computes them as the peer does. Nodes of this project
	// say that they accept both ways. Checksums that arrive are always verified, except for those
	// that kernels are known to get wrong, see VerifyChecksum of kib.
	Cksum bool

	// RxBuffers is how many messages of 4 KiB the NI can be receiving at a time, of all its
	// peers together (1024). A message that finds no buffer is sent again by its sender.
	// Buffers are made when they are first needed. Local policy.
	RxBuffers int
	// MaxConns bounds the connections of an NI, those that are being made or ended
	// included (16384). Above, requests are refused with NO_RESOURCES. Local policy.
	MaxConns int
	// MTU is the path MTU of the device; see verbs.OpenConfig.
	MTU int
	// ReceiveBuffer is the size of the device's receive buffer in bytes, see verbs.OpenConfig. 0:
	// 4 MiB, if the system gives as much. It bounds the packets in flight: with the 24 packets for
	// which Linux has room by default, a transfer of 1 MiB takes several times as long.
	ReceiveBuffer int

	// NoMulticast (multicast=0) leaves the NI without multicast. Otherwise group g has the
	// address MulticastBase + g. All nodes of a net have the same base and Q_Key. Kernels
	// have no multicast. Local policy.
	NoMulticast      bool
	MulticastBase    netip.Addr // multicast_base, default 239.76.0.0; its low 16 bits are 0
	MulticastQKey    uint32     // multicast_qkey, default 0x01234567 as RDMA-CM's groups; below 0x80000000
	MulticastBuffers int        // multicast_buffers, 512: datagrams that the NI can be receiving at a time

	// FirstCookie is the cookie of the first transfer of each connection, for the
	// replay of recordings; 0: 1.
	FirstCookie uint64
}

// errConfig is wrapped by every error that refuses a Config.
var errConfig = errors.New("o2iblnd: bad configuration")

// Limits of tunables.
const (
	minPeerCredits  = 8   // IBLND_CREDITS_DEFAULT
	maxPeerCredits  = 255 // IBLND_CREDITS_MAX
	maxConnsPerPeer = 127
	// defaultTimeout is the value of lnet_lnd_timeout with LNet's defaults.
	defaultTimeout = 49 * time.Second
	receiveBuffer  = 4 << 20 // default of rx_buffer_size
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
