package config

import (
	"fmt"
	"net/netip"

	"github.com/goccy/go-yaml/ast"
)

// multicastPort parses a UDP port that needs no privilege, or 0.
func multicastPort(to *int) setting {
	const roce = 4791
	return setting{func(value ast.Node) error {
		n, err := integer(value, 0, 65535)
		switch {
		case err != nil:
			return err
		case n == roce:
			return fmt.Errorf("port %d is that of RoCEv2; want another one", n)
		case n > 0 && n < 1024:
			return fmt.Errorf("port %d is privileged; want 0, or one from 1024 on", n)
		}
		*to = n
		return nil
	}}
}

// multicastBase parses the first of the 65536 addresses of groups.
func multicastBase(to *string, is6 bool) setting {
	want := "an IPv4 multicast address that ends in .0.0, such as 239.76.0.0"
	if is6 {
		want = "an IPv6 multicast address that ends in :0, such as ff15::4c4e:0"
	}
	return text(to, func(s string) error {
		a, err := netip.ParseAddr(s)
		if err != nil || a.Is6() != is6 || a.Zone() != "" || !a.IsMulticast() {
			return fmt.Errorf("want %s, not %q", want, s)
		}
		b := a.As16()
		if b[14] != 0 || b[15] != 0 || a == netip.AddrFrom4([4]byte{224, 0, 0, 0}) {
			return fmt.Errorf("want %s, not %q: groups take the last 16 bits, and 224.0.0.0 is the network's own", want, s)
		}
		return nil
	})
}
