package replay_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/o2iblnd/kib"
)

// TestPings replays the recorded pings against our driver, in place of each of the two nodes. Nothing may
// differ except what the map want lists.
func TestPings(t *testing.T) {
	const (
		asks, gsi, m      = "ACK timeout", "PSN and AckReq of QP 1", "migration bit"
		rate, transaction = "packet rate", "transaction id of a REQ or DREQ"
	)
	want := map[string]map[string]int{
		activePing + kernel.String():      {gsi: 2, m: 3},
		activePing + improvised.String():  {rate: 1, transaction: 2},
		passivePing + kernel.String():     {asks: 1, gsi: 2, m: 3, transaction: 1},
		passivePing + improvised.String(): {},
	}
	for _, file := range []string{activePing, passivePing} {
		roles(t, file, func(t *testing.T, s *replay.Script, host netip.Addr) {
			n := newNode(t, s, host, nil)
			n.play()
			if diff := cmp.Diff(want[file+s.Other(host).String()], n.Player.Seen); diff != "" {
				t.Errorf("differences (-want +got)\n%s", diff)
			}
		})
	}
}

// TestChecksumsOfPeer: kernels end a connection if a checksum is not as they compute it, and
// before Linux 6.2 x86 added bytes as signed values. With cksum=1 a request for a connection
// therefore has no checksum, and all later messages have the checksum as the peer computes it.
func TestChecksumsOfPeer(t *testing.T) {
	for _, file := range []string{activePing, passivePing} {
		for _, counting := range []kib.Counting{kib.Unsigned, kib.Signed} {
			t.Run(counting.String(), func(t *testing.T) {
				roles(t, file, func(t *testing.T, s *replay.Script, host netip.Addr) {
					s.AddChecksums(host, counting)
					defer func() { // both roles share this script, so restore it
						s.AddChecksums(host, kib.Unknown)
					}()
					n := prepare(t, s, host)
					n.Player.Also = append(n.Player.Also[:len(n.Player.Also):len(n.Player.Also)], replay.Checksums(counting))
					if err := n.start(s, n.Stage, func(c *o2iblnd.Config, _ *lnd.Config) { c.Cksum = true }); err != nil {
						t.Fatal(err)
					}
					n.play()
					if n.Player.Seen["checksum"] == 0 {
						t.Error("no message has a checksum")
					}
				})
			})
		}
	}
}
