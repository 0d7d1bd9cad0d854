package loopback

import (
	"net/netip"
	"strings"
	"testing"
)

func TestOutside(t *testing.T) {
	for _, tt := range []struct {
		kernels   portRange
		low, high int // of what may be given
		not, till int // and none between these, unless 0
	}{
		{portRange{32_768, 60_999}, 10_000, 65_535, 32_768, 60_999},
		{portRange{1024, 60_000}, 60_001, 65_535, 0, 0},
		{portRange{40_000, 65_535}, 10_000, 39_999, 0, 0},
		{portRange{1024, 5000}, 10_000, 65_535, 0, 0},
		{portRange{1024, 65_534}, 65_535, 65_535, 0, 0},
	} {
		for range 1000 {
			got, err := tt.kernels.outside()
			p := int(got)
			if err != nil || p < tt.low || p > tt.high || tt.till > 0 && p >= tt.not && p <= tt.till {
				t.Fatalf("%+v: port %d, %v", tt.kernels, p, err)
			}
		}
	}
}

func TestFreePortNoneLeft(t *testing.T) {
	host := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	if port, err := freePort(portRange{1024, 65_535}, host); err == nil || !strings.Contains(err.Error(), "ip_local_port_range") {
		t.Errorf("port %d, %v", port, err)
	}
}
