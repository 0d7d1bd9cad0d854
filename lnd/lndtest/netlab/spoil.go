//go:build linux

package netlab

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os/exec"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"ulnet/lnd/lndtest/needs"
)

// The token bucket of SetRate: how many bytes leave at once, and for how long packets wait before
// others are dropped. From 1 Gbit/s on the burst holds a whole GSO packet. Otherwise the kernel
// would split the packet in software, which costs more CPU time than the measured node uses; a real
// interface splits it in hardware.
const (
	leastBurst    = 32 << 10
	burstSeconds  = 0.001
	bucketSeconds = 0.2
)

// SetMTU sets the largest IP packet that both ends send, in bytes. Below 1280 an
// interface loses its IPv6 addresses.
func (c *Cable) SetMTU(mtu int) {
	for _, e := range c.ends {
		e.host.t.Helper()
		e.host.must(fmt.Sprintf("%s mtu %d", e.name, mtu), func() error {
			link, err := netlink.LinkByName(e.name)
			if err != nil {
				return err
			}
			return netlink.LinkSetMTU(link, mtu)
		})
	}
}

// SetRate limits what h sends to a rate in bits per second; 0 removes the limit. Packets that
// would wait for longer than 200 ms are dropped.
func (c *Cable) SetRate(h *Host, rate int64) {
	h.t.Helper()
	name := c.at(h).name
	h.must(name+" tbf", func() error {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		bytes := uint64(rate / 8)
		burst := max(leastBurst, uint32(burstSeconds*float64(bytes)))
		bucket := &netlink.Tbf{
			QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
			Rate:       bytes, Limit: uint32(bucketSeconds*float64(bytes)) + burst,
		}
		if rate == 0 {
			if err := netlink.QdiscDel(bucket); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
				return err // ENOENT and EINVAL only mean that there was no limit to remove
			}
			return nil
		}
		bucket.Buffer = netlink.Xmittime(bytes, burst)
		return netlink.QdiscReplace(bucket)
	})
}

// SetLoss drops packets on their way to h, each with a probability; 0 lets all pass. It needs
// the command nft; without it the test is skipped, except in CI, where that is a failure.
func (c *Cable) SetLoss(h *Host, probability float64) {
	h.t.Helper()
	c.lose(h, "loss", probability, "")
}

// SetMulticastLoss is SetLoss for packets to IPv4 multicast addresses alone.
func (c *Cable) SetMulticastLoss(h *Host, probability float64) {
	h.t.Helper()
	c.lose(h, "mloss", probability, "ip daddr 224.0.0.0/4 ")
}

// lose drops some of the packets that fit a match of nftables.
func (c *Cable) lose(h *Host, table string, probability float64, match string) {
	h.t.Helper()
	name := c.at(h).name
	table += "_" + name
	rules := ""
	if probability > 0 {
		rules = fmt.Sprintf(`table netdev %s {
	chain in {
		type filter hook ingress device %q priority 0
		%snumgen random mod %d < %d drop
	}
}`, table, name, match, math.MaxInt32, int64(probability*math.MaxInt32))
	}
	h.filter("netdev "+table, rules)
}

// Reset makes h answer every TCP segment with RST, as a firewall or a host that
// has restarted does, until it is called with false. It needs nft as SetLoss
// does.
func (h *Host) Reset(on bool) {
	h.t.Helper()
	rules := ""
	if on {
		rules = `table inet with_rst {
	chain in {
		type filter hook input priority 0
		meta l4proto tcp reject with tcp reset
	}
}`
	}
	h.filter("inet with_rst", rules)
}

// Block drops all packets that come to h from some IPv4 addresses, without telling their
// senders, until it is called with other addresses, or none. It needs nft as SetLoss does.
func (h *Host) Block(addrs ...string) {
	h.t.Helper()
	rules := ""
	if len(addrs) > 0 {
		rules = fmt.Sprintf(`table ip blocked {
	chain in {
		type filter hook input priority 0
		ip saddr { %s } drop
	}
}`, strings.Join(addrs, ", "))
	}
	h.filter("ip blocked", rules)
}

// Lead makes h send packets for an address to a MAC address that no host has: a connection
// attempt gets no answer, not even that there is no such host.
func (c *Cable) Lead(h *Host, addr string) {
	h.t.Helper()
	h.must("lead "+addr+" nowhere", func() error {
		l, err := netlink.LinkByName(c.at(h).name)
		if err != nil {
			return err
		}
		return netlink.NeighSet(&netlink.Neigh{
			LinkIndex: l.Attrs().Index, State: netlink.NUD_PERMANENT, IP: net.ParseIP(addr),
			HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0xDE, 0xAD},
		})
	})
}

// filter replaces a table of nftables by rules; empty rules remove it.
func (h *Host) filter(table, rules string) {
	h.t.Helper()
	nft := needs.Program(h.t, "nft")
	// Deleting fails without a table, so the script makes one first.
	script := fmt.Sprintf("table %s {}\ndelete table %[1]s\n%s\n", table, rules)
	cmd := exec.Command(nft, "-f", "-")
	cmd.Stdin = strings.NewReader(script)
	h.must("nft "+table, func() error {
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}
