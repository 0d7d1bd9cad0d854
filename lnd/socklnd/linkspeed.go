package socklnd

import (
	"math/bits"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ulnet/lnd/hostaddr"
)

// connsForSpeed returns conns_per_peer for a link of mbps Mbit/s: floor(log2(Gbit/s)) / 2 + 1, in
// whole numbers and with 1 Gbit/s at least (socklnd ksocklnd_lookup_conns_per_peer). mbps is 0 if
// the speed is unknown.
//
//	1G 1   10G 2   25G 3   100G 4   400G 5
func connsForSpeed(mbps int) int {
	if mbps <= 0 {
		return 1
	}
	gbps := uint(max(mbps/1000, 1))
	return min((bits.Len(gbps)-1)/2+1, maxConnsPerPeer)
}

// linkSpeed returns the speed in Mbit/s of the interface that has addr, or 0 if the system
// reports none, as for the loopback and many virtual interfaces.
func linkSpeed(addr netip.Addr) int {
	ifaces, err := net.Interfaces()
	if err != nil {
		return 0
	}
	for _, i := range ifaces {
		if i.Flags&net.FlagLoopback == 0 && hostaddr.Has(&i, addr) {
			return readSpeed(filepath.Join("/sys/class/net", i.Name, "speed"))
		}
	}
	return 0
}

// readSpeed reads a speed file of sysfs, which says -1 or fails while the link
// is down.
func readSpeed(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	mbps, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || mbps < 0 {
		return 0
	}
	return mbps
}
