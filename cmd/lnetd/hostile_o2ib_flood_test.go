//go:build linux

package main_test

import (
	"fmt"
	"testing"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/nid"
)

// Parameters of the flood: requests for connections that are never completed, from some
// addresses.
const (
	floodAddrs = 6
	floodEach  = 600
	floodOpen  = 256 // largest number of a peer's requests that are granted but not completed
)

// flood requests connections in the names of several peers, more than the daemon grants at a time, and
// never completes them. Before the daemon gives the latest requests up, it accepts connections of other
// peers, and of the real peers that have these addresses.
func (b *blockade) flood(t *testing.T) {
	for i := range floodAddrs {
		s := b.from(t, floodName(i))
		for n := range uint32(floodEach) {
			s.send(t, s.request(n+1))
			if n%50 == 49 { // pauses now and then, so that the socket's buffer does not overflow
				b.awaitGranted(i*floodEach + int(n+1))
			}
		}
		if n := b.handshakes(); n > (i+1)*floodOpen {
			t.Errorf("%d connections are not finished, of %d names", n, i+1)
		}
		b.letsIn(t, fmt.Sprintf("127.0.1.%d", i+1))
	}
	b.goesOn(t)
	const resting = 100 // bound on the connections that earlier tests have left, which end by a timeout
	if n := b.device()["cm_connections"]; n > floodAddrs*floodOpen+resting {
		t.Errorf("%d connections at the device for %d requests", n, floodAddrs*floodEach)
	}
	if grown := rssOf(t, b.daemon) - b.rss; grown > maxGrowth && !effort.Race {
		t.Errorf("%d requests take %d KiB", floodAddrs*floodEach, grown>>10)
	}
	for i := range floodAddrs { // from now on hosts with these addresses exist, and refuse the granted connections
		b.letsIn(t, floodName(i))
	}
}

func floodName(i int) string { return fmt.Sprintf("127.1.0.%d", i+1) }

// awaitGranted waits until the daemon has granted at least n requests: those that are not completed, and
// those that it has given up.
func (b *blockade) awaitGranted(n int) {
	b.daemon.Until(reaction, fmt.Sprintf("%d granted requests", n), func() bool {
		return b.handshakes()+int(b.daemon.Count(o2iblnd.Unreachable)) >= n
	})
}

// handshakes returns the number of connections that are not completed.
func (b *blockade) handshakes() int {
	for _, ni := range b.daemon.Status().NIs {
		if ni.LND.Verbs != nil {
			return ni.LND.Handshakes
		}
	}
	return 0
}

// letsIn checks that a peer with this address can connect.
func (b *blockade) letsIn(t *testing.T, addr string) {
	t.Helper()
	l := b.rogue(t, addr).connect()
	l.Disconnect()
	if e := l.next(); e.Kind != verbs.Disconnected {
		t.Errorf("%+v", e)
	}
}

// request returns the nth valid connection request of a sender.
func (s *sender) request(n uint32) []byte {
	o2ib := nid.MustParseNet("o2ib")
	m := kib.Msg{
		Header: kib.Header{
			Version: kib.V2, Type: kib.ConnReq, SrcNID: nid.FromAddr(o2ib, s.from.Addr()), SrcStamp: rogueStamp,
			DstNID: nid.FromAddr(o2ib, besieged.Addr()),
		},
		Params: kib.ConnParams{QueueDepth: 8, MaxFrags: 256, MaxMsgSize: kib.MaxMsgSize},
	}
	private, _ := m.AppendBinary(ibta.IPCM{SrcPort: 1023, Src: s.from.Addr(), Dst: besieged.Addr()}.AppendTo(nil)) // cannot fail: the NIDs are short
	const patient = 31                                                                                             // encoding of the longest timeout
	return s.mad(ibta.AttrREQ, &ibta.REQ{
		LocalID: ibta.CommID(n), LocalGUID: 5, QPN: ibta.QPN(n + 100), ServiceID: ibta.PortSpaceTCP.Service(kib.Service),
		RemoteTimeout: patient, LocalTimeout: patient, PKey: ibta.DefaultPKey, MTU: ibta.MTU4096, RetryCount: 7, RNRRetryCount: 7,
		Primary: ibta.PathRecord{LocalGID: ibta.GIDFrom(s.from.Addr()), RemoteGID: ibta.GIDFrom(besieged.Addr()), AckTimeout: patient},
		Private: private,
	})
}
