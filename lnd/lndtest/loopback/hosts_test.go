package loopback_test

import (
	"net"
	"net/netip"
	"testing"

	"ulnet/lnd/lndtest/loopback"
)

func TestFreeHosts(t *testing.T) {
	hosts, err := loopback.FreeHosts(3)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range hosts {
		if !a.IsLoopback() || int(a.As4()[3]) != i+1 {
			t.Errorf("address %d is %v", i, a)
		}
		c, err := net.ListenPacket("udp4", netip.AddrPortFrom(a, 4791).String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	others, err := loopback.FreeHosts(1)
	if err != nil || others[0] == hosts[0] {
		t.Errorf("while they are used: %v, %v", others, err)
	}
	for _, n := range []int{0, 251} {
		if _, err := loopback.FreeHosts(n); err == nil {
			t.Errorf("%d hosts", n)
		}
	}
}
