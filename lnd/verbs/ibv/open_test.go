package ibv

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"ulnet/lnd/verbs"
	"ulnet/lnet/machine"
)

// TestOpenNothing: without a device the error advises what to do, with every build tag.
func TestOpenNothing(t *testing.T) {
	if os.Getenv("LD_PRELOAD") != "" {
		t.Skip("the libraries may be others")
	}
	d, err := Open(verbs.OpenConfig{Addr: netip.MustParseAddr("127.0.0.1"), Clock: machine.RealClock()})
	if err == nil {
		_ = d.Close()
		t.Skip("this machine has an RDMA device at 127.0.0.1")
	}
	t.Log(err)
	text := err.Error()
	if !strings.Contains(text, "rdma link add rxe0 type rxe netdev") && !strings.Contains(text, "-tags ibverbs") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}
