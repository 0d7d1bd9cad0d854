// Package hostaddr lists those addresses of an interface of this host that NIDs are made of. All parts
// that find an NI's address by the name of its interface use the same list.
package hostaddr

import (
	"bufio"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Flags of IPv6 addresses (linux/if_addr.h).
const (
	temporary  = 0x01 // IFA_F_TEMPORARY: an address of privacy extensions (RFC 8981), which is replaced within days
	deprecated = 0x20 // IFA_F_DEPRECATED: no new connections use the address, and it goes soon
	tentative  = 0x40 // IFA_F_TENTATIVE: the system still finds out whether another host has the address
)

// Of returns the addresses of an interface in the order in which the system lists them, except that
// deprecated and tentative IPv6 addresses come last. Temporary IPv6 addresses are left out, as
// LNet of the kernel leaves them out (lnet_inet_enumerate): a node whose NID is one of them would lose it after
// some days. An interface that has just vanished has no addresses.
func Of(i *net.Interface) []netip.Addr {
	list, _ := i.Addrs()
	var addrs []netip.Addr
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			addrs = append(addrs, p.Addr().Unmap())
		}
	}
	file, err := os.Open("/proc/thread-self/net/if_inet6")
	if err != nil {
		return addrs // the host has no IPv6, or is not Linux
	}
	defer file.Close()
	return order(addrs, flags(file, i.Index))
}

// order returns addresses as Of does, given the flags of the IPv6 addresses among them.
func order(addrs []netip.Addr, flags map[netip.Addr]uint64) []netip.Addr {
	addrs = slices.DeleteFunc(addrs, func(a netip.Addr) bool { return flags[a]&temporary != 0 })
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return last(flags[a]) - last(flags[b]) })
	return addrs
}

// last returns 1 for an address that comes after those for which it returns 0.
func last(flags uint64) int {
	if flags&(deprecated|tentative) != 0 {
		return 1
	}
	return 0
}

// flags reads the flags of an interface's IPv6 addresses from the file if_inet6 of procfs. Each line has the
// address without colons, the index of the interface, the length of the prefix, scope and flags, all in hexadecimal,
// and the name of the interface. Other lines are skipped.
func flags(file io.Reader, index int) map[netip.Addr]uint64 {
	of := make(map[netip.Addr]uint64)
	for s := bufio.NewScanner(file); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 5 || len(f[0]) != 32 {
			continue
		}
		high, err1 := strconv.ParseUint(f[0][:16], 16, 64)
		low, err2 := strconv.ParseUint(f[0][16:], 16, 64)
		i, err3 := strconv.ParseUint(f[1], 16, 31)
		flags, err4 := strconv.ParseUint(f[4], 16, 32)
		if err1 == nil && err2 == nil && err3 == nil && err4 == nil && int(i) == index {
			of[address(high, low)] = flags
		}
	}
	return of
}

// address returns the IPv6 address with these halves.
func address(high, low uint64) netip.Addr {
	var b [16]byte
	for i := range 8 {
		b[i], b[8+i] = byte(high>>(56-8*i)), byte(low>>(56-8*i))
	}
	return netip.AddrFrom16(b)
}
