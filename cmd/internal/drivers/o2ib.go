package drivers

import (
	"cmp"
	"errors"
	"fmt"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/ibv"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
)

// O2IB is the driver o2iblnd with a provider of verbs, and the section o2ib of the file:
// networks over RDMA. The comment of each field begins with its key; most keys are those of
// ko2iblnd.
type O2IB struct {
	Plain

	Provider string // provider: one of Providers

	PeerTimeout       time.Duration // peer_timeout, in seconds; 0: the value for all networks
	PeerCredits       int           // peer_credits: messages in flight to a peer; 0: the value for all networks
	PeerBufferCredits int           // peer_buffer_credits: router buffers of a peer; 0: the value for all networks
	Credits           int           // credits: messages in flight of an NI; 0: the value for all networks

	LND o2iblnd.Config // the tunables that o2iblnd.Config.Tunables lists

	// Tunables of kernels that softroce does not use. They are only shown.
	MapOnDemand     int  // map_on_demand: only shown
	FMRPoolSize     int  // fmr_pool_size: only shown
	FMRFlushTrigger int  // fmr_flush_trigger: only shown
	FMRCache        bool // fmr_cache: only shown
}

// The providers of RDMA: in Go over UDP, and the libraries of the system.
const (
	Softroce = "softroce"
	IBVerbs  = "ibverbs"
)

// Providers are the values of the key provider.
var Providers = []string{Softroce, IBVerbs}

// openers has the function that opens RDMA devices, by provider.
var openers = map[string]verbs.Opener{Softroce: softroce.Open, IBVerbs: ibv.Open}

// Type implements [Driver], as do the methods below.
func (*O2IB) Type() nid.NetType { return nid.O2IB }

// Name implements [Driver].
func (*O2IB) Name() string { return "o2iblnd" }

// Section implements [Driver].
func (*O2IB) Section() string { return "o2ib" }

// Tunables implements [Driver].
func (o *O2IB) Tunables() []lnd.Tunable { return o.LND.Tunables() }

// Shown implements [Driver].
func (*O2IB) Shown() string { return o2ibTunables }

// NI implements [Driver].
func (o *O2IB) NI(all lnd.Tunables) lnd.Tunables {
	all.PeerTimeout = cmp.Or(o.PeerTimeout, all.PeerTimeout)
	all.PeerCredits = cmp.Or(o.PeerCredits, all.PeerCredits)
	all.PeerBufferCredits = cmp.Or(o.PeerBufferCredits, all.PeerBufferCredits)
	all.Credits = cmp.Or(o.Credits, all.Credits)
	return all
}

// Add implements [Driver].
func (o *O2IB) Add(to *node.Config, s Settings, sockets Sockets) func(lnd.NI) *Status {
	var d devices
	to.O2IB = o.LND
	provider := cmp.Or(o.Provider, Softroce)
	open := openers[provider]
	if provider == Softroce && sockets != nil {
		open = softroce.NewOpener(softroce.Options{Bind: sockets.ListenPacket})
	}
	to.O2IB.Open = d.watch(open)
	to.O2IB.NoMulticast, to.O2IB.MulticastBase = !s.Multicast, groupAddr(s.MulticastBase)
	return func(ni lnd.NI) *Status { return o.status(ni, &d) }
}

// Believes implements [Driver].
func (o *O2IB) Believes(Settings) string {
	if !o.LND.RequirePrivilegedPort {
		return "require_privileged_port: 0 in the section o2ib"
	}
	return ""
}

// HintStart implements [Driver]. The hints are about the usual failures of RDMA devices.
func (o *O2IB) HintStart(s Settings, err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE) && o.Provider == Softroce:
		return "something has UDP port 4791 of that address: another lnetd (use its node: lnetctl without --standalone), or the kernel's software RoCE ('rdma link' shows it), which is not needed here; or choose another address with --networks 'o2ib(ADDRESS)'"
	case is(err, syscall.EADDRNOTAVAIL, syscall.EEXIST, syscall.ESHUTDOWN, syscall.EMFILE, syscall.ENFILE):
		return o.Plain.HintStart(s, err)
	case o.Provider == IBVerbs:
		return "ibverbs needs an adapter for the interface, see 'rdma link'; softroce needs none: --o2ib-provider softroce"
	}
	return "'ip address' lists the interfaces and addresses of this machine, of which o2ib needs one of IPv4"
}

// HintUnreached implements [Driver]. The hint supplements the driver's own error.
func (o *O2IB) HintUnreached(_ Settings, target nid.NID, err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("it answers, and refuses: is %v one of its NIDs? its log says why", target)
	case errors.Is(err, syscall.EHOSTUNREACH):
		return fmt.Sprintf("does LNet run there, and is its service (%d here) the same?", o.LND.Service)
	}
	return fmt.Sprintf("does it run, and does a firewall let UDP port %d through in both directions? docs/o2ib.md has what else to look at", ibta.Port)
}
