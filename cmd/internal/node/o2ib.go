package node

import (
	"cmp"
	"errors"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/lnd"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/ibv"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/nid"
)

// openers are how devices of RDMA are opened, by provider.
var openers = map[string]verbs.Opener{config.Softroce: softroce.Open, config.IBVerbs: ibv.Open}

// o2iblndConfig returns the configuration of the RDMA driver.
func o2iblndConfig(c config.Config) o2iblnd.Config {
	o := c.O2IB.LND
	o.Open = openers[cmp.Or(c.O2IB.Provider, config.Softroce)]
	o.NoMulticast, o.MulticastBase = !c.Multicast, groupAddr(c.MulticastBase)
	return o
}

// o2ibTunables returns what o2iblnd has of the tunables that all drivers share.
func o2ibTunables(c config.Config) lnd.Tunables {
	t := lndTunables(c)
	t.PeerTimeout = cmp.Or(c.O2IB.PeerTimeout, t.PeerTimeout)
	t.PeerCredits = cmp.Or(c.O2IB.PeerCredits, t.PeerCredits)
	t.PeerBufferCredits = cmp.Or(c.O2IB.PeerBufferCredits, t.PeerBufferCredits)
	t.Credits = cmp.Or(c.O2IB.Credits, t.Credits)
	return t
}

// explainO2IB adds what helps against the usual failures of a device.
func (n *Node) explainO2IB(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EADDRINUSE) && n.cfg.O2IB.Provider == config.Softroce:
		return cli.Hint(err, "something has UDP port 4791 of that address: another lnetd (use its node: lnetctl without --standalone), or the kernel's software RoCE ('rdma link' shows it), which is not needed here; or choose another address with --networks 'o2ib(ADDRESS)'")
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.ESHUTDOWN):
		return n.explainTCP(err)
	case n.cfg.O2IB.Provider == config.IBVerbs:
		return cli.Hint(err, "ibverbs needs an adapter for the interface, see 'rdma link'; softroce needs none: --o2ib-provider softroce")
	}
	return cli.Hint(err, "see --networks; 'ip address' lists interfaces and addresses, of which o2ib needs one of IPv4")
}

// explainUnreachedO2IB is explainUnreached of a node on RDMA. The driver's error has
// said what it knows.
func (n *Node) explainUnreachedO2IB(target nid.NID, err error) error {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return cli.Hint(err, "it answers, and refuses: is %v one of its NIDs? its log says why", target)
	case errors.Is(err, syscall.EHOSTUNREACH):
		return cli.Hint(err, "does LNet run there, and is its service (%d here) the same?", n.cfg.O2IB.LND.Service)
	}
	return cli.Hint(err, "does it run, and does a firewall let UDP port %d through in both directions? docs/o2ib.md has what else to look at", ibta.Port)
}
