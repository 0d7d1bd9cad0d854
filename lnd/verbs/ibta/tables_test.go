package ibta_test

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs/ibta"
)

func TestSyndromes(t *testing.T) {
	tests := []struct {
		s             ibta.Syndrome
		ack, rnr, nak bool
		credits       int // credits in the answer; -1: none are given
		text          string
	}{
		{0, true, false, false, 0, "ACK"},
		{0x1E, true, false, false, 32768, "ACK"},
		{ibta.AckUnlimited, true, false, false, -1, "ACK"},
		{ibta.RNRNak, false, true, false, -1, "RNR NAK 655.36ms"},
		{ibta.RNRNak | 13, false, true, false, -1, "RNR NAK 960µs"},
		{0x40, false, false, false, -1, "syndrome 0x40"},
		{ibta.NakSequence, false, false, true, -1, "NAK sequence error"},
		{ibta.NakInvalid, false, false, true, -1, "NAK invalid request"},
		{ibta.NakAccess, false, false, true, -1, "NAK remote access error"},
		{ibta.NakOperation, false, false, true, -1, "NAK remote operational error"},
		{0x7F, false, false, true, -1, "syndrome 0x7f"},
		{0x80, false, false, false, -1, "syndrome 0x80"},
	}
	for _, tt := range tests {
		credits, said := tt.s.Credits()
		if !said {
			credits = -1
		}
		if tt.s.IsAck() != tt.ack || tt.s.IsRNR() != tt.rnr || tt.s.IsNak() != tt.nak || credits != tt.credits || tt.s.String() != tt.text {
			t.Errorf("%#x: ACK %v, RNR %v, NAK %v, credits %d, %q", uint8(tt.s), tt.s.IsAck(), tt.s.IsRNR(), tt.s.IsNak(), credits, tt.s)
		}
	}
}

// TestRNRDelays: the delays are those of the table in the reference, here in hundredths of milliseconds.
func TestRNRDelays(t *testing.T) {
	want := [32]int{
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072,
		4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	}
	for code, n := range want {
		if got := ibta.RNRDelay(uint8(code)); got != time.Duration(n)*10*time.Microsecond {
			t.Errorf("code %d: %v", code, got)
		}
	}
	if ibta.RNRDelay(33) != ibta.RNRDelay(1) {
		t.Error("high bits of a code count")
	}
}

func TestTimeouts(t *testing.T) {
	for code, want := range map[uint8]time.Duration{0: 0, 1: 8192, 17: 536870912, 19: 2147483648, 32: 0} {
		if got := ibta.AckTimeout(code); got != want {
			t.Errorf("ACK timeout %d: %v, want %v", code, got, want)
		}
	}
	for code, want := range map[uint8]time.Duration{0: time.Millisecond, 8: time.Millisecond, 20: 4096 * time.Millisecond, 24: 65536 * time.Millisecond} {
		if got := ibta.CMTimeout(code); got != want {
			t.Errorf("CM timeout %d: %v, want %v", code, got, want)
		}
	}
}

func TestMTU(t *testing.T) {
	for m, want := range map[ibta.MTU]int{
		0: 0, ibta.MTU256: 256, ibta.MTU512: 512, ibta.MTU1024: 1024, ibta.MTU2048: 2048, ibta.MTU4096: 4096, 6: 0, 15: 0,
	} {
		if m.Bytes() != want || m.IsValid() != (want > 0) {
			t.Errorf("MTU %d: %d bytes", m, m.Bytes())
		}
	}
	if ibta.MTU512 != 2 || ibta.MTU4096 != 5 {
		t.Error("the codes are not those of the InfiniBand specification")
	}
	for network, want := range map[int]int{0: 0, 351: 0, 352: 256, 1500: 1024, 4200: 4096, 4191: 2048, 9000: 4096} {
		if got := ibta.PathMTU(network).Bytes(); got != want {
			t.Errorf("network MTU %d: %d, want %d", network, got, want)
		}
	}
}

func TestGID(t *testing.T) {
	for _, s := range []string{"10.88.0.1", "fd00::1"} {
		a := netip.MustParseAddr(s)
		if g := ibta.GIDFrom(a); g.Addr() != a || g.String() != s {
			t.Errorf("%s: %v", s, g)
		}
	}
	if g := ibta.GIDFrom(netip.MustParseAddr("10.88.0.1")); [16]byte(g) != [16]byte{10: 0xFF, 11: 0xFF, 12: 10, 13: 88, 15: 1} {
		t.Errorf("% x", g[:])
	}
	if ibta.GIDFrom(netip.Addr{}) != (ibta.GID{}) {
		t.Error("GID of no address")
	}
}
