package o2iblnd_test

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/o2iblnd/kib"
)

// The recordings of kernels. Nodes 10.88.0.2 and .3 are kernels; .1 was improvised.
const (
	activePing  = "../capture/testdata/o2ib-rxe-active-ping.pcap"
	passivePing = "../capture/testdata/o2ib-rxe-passive-ping.pcap"
	rejects     = "../capture/testdata/o2ib-rxe-rejects-renegotiation.pcap"
	bulk        = "internal/replay/testdata/o2ib-rxe-lst-brw-1M-write-64K-read.pcap.gz"
)

var (
	improvised   = netip.MustParseAddr("10.88.0.1")
	kernel       = netip.MustParseAddr("10.88.0.2")
	secondKernel = netip.MustParseAddr("10.88.0.3")
)

func load(t testing.TB, file string) *replay.Script {
	t.Helper()
	s, err := replay.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// roles calls f for both nodes of a recording.
func roles(t *testing.T, file string, f func(t *testing.T, s *replay.Script, host netip.Addr)) {
	s := load(t, file)
	for _, host := range s.Hosts() {
		t.Run(fmt.Sprintf("%s/we are %v", filepath.Base(file), s.Other(host)), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, s, host) })
		})
	}
}

// TestPings replays the recorded pings against our driver, in both roles.
func TestPings(t *testing.T) {
	const (
		asks, gsi, m     = "ACK timeout", "PSN and AckReq of QP 1", "migration bit"
		rate, transation = "packet rate", "transaction id of a REQ or DREQ"
	)
	want := map[string]map[string]int{
		activePing + kernel.String():      {gsi: 2, m: 3},
		activePing + improvised.String():  {rate: 1, transation: 2},
		passivePing + kernel.String():     {asks: 1, gsi: 2, m: 3, transation: 1},
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

// TestChecksumsOfPeer: kernels end a connection at a checksum that they count otherwise,
// and x86 counted bytes with their signs before Linux 6.2: with cksum=1 a request for a
// connection has no checksum, and all that follows has the peer's.
func TestChecksumsOfPeer(t *testing.T) {
	for _, file := range []string{activePing, passivePing} {
		for _, counting := range []kib.Counting{kib.Unsigned, kib.Signed} {
			t.Run(counting.String(), func(t *testing.T) {
				roles(t, file, func(t *testing.T, s *replay.Script, host netip.Addr) {
					s.AddChecksums(host, counting)
					defer func() { // roles gives both the same script
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
