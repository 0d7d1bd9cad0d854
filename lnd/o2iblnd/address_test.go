package o2iblnd

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

func TestChooser(t *testing.T) {
	for _, text := range []string{"127.0.0.2", "::ffff:10.0.0.1"} {
		if a, err := chooser.Choose(text); err != nil || a != netip.MustParseAddr(text).Unmap() {
			t.Errorf("%s: %v, %v", text, a, err)
		}
	}
	if lo, err := net.InterfaceByIndex(1); err == nil && lo.Flags&net.FlagLoopback != 0 {
		if a, err := chooser.Choose(lo.Name); err != nil || !a.Is4() || !a.IsLoopback() {
			t.Errorf("%s: %v, %v", lo.Name, a, err)
		}
	}
	for _, name := range []string{"fd88::1", "::1", "fe80::1%lo", "no-such-interface"} {
		if a, err := chooser.Choose(name); err == nil || !strings.HasPrefix(err.Error(), "o2iblnd: ") {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
}
