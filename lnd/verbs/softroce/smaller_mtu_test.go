package softroce

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnd/verbs/softroce/wire"
)

// TestCMSmallerMTUMeanwhile: the MTU gets smaller than a request says before the peer grants it. The connection is not
// established at either side, and the consumer learns that the MTU is the reason. A REP that the peer repeats because
// the REJ was lost is rejected, too.
func TestCMSmallerMTUMeanwhile(t *testing.T) {
	for _, lost := range []int{0, 1} {
		x := newListening(t, 1, 2, weather{})
		x.drop = func(_ int, m ibta.MAD) bool { return m.Attribute == ibta.AttrREJ && x.sent[ibta.AttrREJ] <= lost }
		x.connect(0, 1)
		x.nodes[0].cm.cfg.MTU = ibta.MTU512
		x.run(time.Minute)
		x.expect(0, cmRejected)
		x.expect(1, cmRequested, cmRejected)
		x.empty()
		if e := x.nodes[0].events[0]; e.Reason != ibta.RejectMTU || x.sent[ibta.AttrRTU] > 0 || x.sent[ibta.AttrREJ] != 1+lost {
			t.Errorf("reason %d, sent %v", e.Reason, x.sent)
		}
	}
}

// changing is a network whose ports have an MTU that a test can change.
type changing struct {
	wire.Network
	mtu int
}

func (n *changing) Open(cfg wire.Config) (wire.Conn, error) {
	c, err := n.Network.Open(cfg)
	return changingConn{c, n}, err
}

type changingConn struct {
	wire.Conn
	net *changing
}

func (c changingConn) MTU() int { return c.net.mtu }

// TestAcceptAfterMTU: the MTU of the accepting side gets smaller after its connection manager has passed on a request.
// The peer learns the reason, so that it can ask with smaller packets.
func TestAcceptAfterMTU(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{})
	n := &changing{Network: v.net, mtu: 9000}
	server := openNode(t, NewOpener(Options{Network: n}), verbs.OpenConfig{Addr: netip.MustParseAddr("10.0.0.2"), Clock: v.clock})
	client := openNode(t, v.open, verbs.OpenConfig{Addr: netip.MustParseAddr("10.0.0.1"), Clock: v.clock})
	_, err := server.device.Listen(987, func(r verbs.Request) {
		n.mtu = 1500
		server.device.(*device).LinkUp()
		if _, err := r.Accept(server.config(), server.event); !errors.Is(err, errMTU) {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.device.Connect(addrPort(server.device), client.config(), client.event); err != nil {
		t.Fatal(err)
	}
	v.clock.Run(time.Second)
	if e := take(t, client.events); e.Kind != verbs.Rejected || e.Reason != uint16(ibta.RejectMTU) {
		t.Errorf("%+v", e)
	}
}
