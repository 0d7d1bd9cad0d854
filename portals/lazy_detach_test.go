package portals_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// second is a network for a second NI of the node, on the LNet network tcp1.
type second struct{ network }

var hereToo = nid.MustParse("10.1.0.1@tcp1")

func (*second) NID() nid.NID { return hereToo }

func (s *second) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	_, err := s.network.Startup(cfg, up)
	return s, err
}

// TestLazyShutdownOfOne: when one of two NIs is removed, held messages that came by it are
// dropped; those that came by the other one keep waiting and are taken.
func TestLazyShutdownOfOne(t *testing.T) {
	h, net := newLazy(t)
	other := new(second)
	if _, err := h.Node().AddNI(other, lnd.Config{Net: hereToo.Net()}); err != nil {
		t.Fatal(err)
	}
	put := func(bits uint64) wire.Header {
		return putHeader(4, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5, MatchBits: bits})
	}
	if err := net.arrive(put(1), nil); err != nil {
		t.Fatal(err)
	}
	to := put(2)
	to.DestNID, to.SrcNID = hereToo, nid.MustParse("10.1.0.2@tcp1")
	d := &lnd.Delivery{Header: to, From: nid.ProcessID{NID: to.SrcNID, PID: nid.LustrePID}}
	if answer, err := other.up.Parse(d); answer != lnd.Hold || err != nil {
		t.Fatal(answer, err)
	}
	other.held++
	if err := h.Node().RemoveNI(t.Context(), h.Node().NIs()[0]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]uint64{"NI shutdown": 1}, h.drops()); diff != "" || net.holding() != 0 || other.holding() != 1 {
		t.Errorf("%d and %d held, drops (-want +got):\n%s", net.holding(), other.holding(), diff)
	}
	if err := h.ClearLazy(5); err != nil || other.holding() != 0 {
		t.Errorf("%d held in the end, %v", other.holding(), err)
	}
}
