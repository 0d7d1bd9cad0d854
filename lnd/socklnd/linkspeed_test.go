package socklnd

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

// TestConnsForSpeed: the number of connections for each link speed is the one that kernels derive from it.
func TestConnsForSpeed(t *testing.T) {
	for mbps, want := range map[int]int{
		-1: 1, 0: 1, 10: 1, 100: 1, 1000: 1, 2500: 1, 5000: 2, 10_000: 2, 25_000: 3, 40_000: 3,
		50_000: 3, 100_000: 4, 200_000: 4, 400_000: 5, 800_000: 5,
	} {
		if got := connsForSpeed(mbps); got != want {
			t.Errorf("%d Mbit/s: conns_per_peer %d, want %d", mbps, got, want)
		}
	}
}

func TestReadSpeed(t *testing.T) {
	for text, want := range map[string]int{"10000\n": 10000, "-1\n": 0, "": 0, "unknown\n": 0} {
		file := filepath.Join(t.TempDir(), "speed")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := readSpeed(file); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := readSpeed(filepath.Join(t.TempDir(), "none")); got != 0 {
		t.Errorf("no file: %d", got)
	}
	for _, addr := range []string{"127.0.0.1", "192.0.2.1"} { // 192.0.2.1 is in no network (RFC 5737)
		if got := linkSpeed(netip.MustParseAddr(addr)); got != 0 {
			t.Errorf("%s has a link of %d Mbit/s", addr, got)
		}
	}
}

// TestConnsPerPeerOfLink: the number of connections depends on the link's speed, unless conns_per_peer
// is set.
func TestConnsPerPeerOfLink(t *testing.T) {
	for _, tt := range []struct{ configured, mbps, want int }{
		{0, 0, 1}, {0, 25_000, 3}, {127, 25_000, 127}, {1, 25_000, 1},
	} {
		var asked netip.Addr
		h := start(t, "10.0.0.2", newMemNet().config(Config{ConnsPerPeer: tt.configured, LinkSpeed: func(a netip.Addr) int {
			asked = a
			return tt.mbps
		}}))
		if got := h.ni.Snapshot().Tunables["conns_per_peer"]; got != tt.want {
			t.Errorf("configured %d, link %d: %d, want %d", tt.configured, tt.mbps, got, tt.want)
		}
		if tt.configured == 0 && asked != h.ni.addr {
			t.Errorf("asked for %v", asked)
		}
	}
}
