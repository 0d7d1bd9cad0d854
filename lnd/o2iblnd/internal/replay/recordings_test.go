package replay_test

import (
	"bytes"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/verbs/ibta"
)

// The recordings. Nodes 10.88.0.2 and .3 are kernels; .1 is a software peer that was improvised for
// the recordings, and is no reference.
const (
	activePing  = "../../../capture/testdata/o2ib-rxe-active-ping.pcap"
	passivePing = "../../../capture/testdata/o2ib-rxe-passive-ping.pcap"
	rejects     = "../../../capture/testdata/o2ib-rxe-rejects-renegotiation.pcap"
	bulk        = "testdata/o2ib-rxe-lst-brw-1M-write-64K-read.pcap.gz"
)

var (
	improvised   = netip.MustParseAddr("10.88.0.1")
	kernel       = netip.MustParseAddr("10.88.0.2")
	secondKernel = netip.MustParseAddr("10.88.0.3")
)

var recordings = []string{activePing, passivePing, rejects, bulk}

func load(t testing.TB, file string) *replay.Script {
	t.Helper()
	s, err := replay.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDecode decodes all packets of all recordings, of kernels and of others, and encodes each
// again from its parts: headers, CM message, RDMA-CM header, o2iblnd message or reject, LNet
// header. The two REQs that were wrong on purpose have private data that cannot be parsed.
func TestDecode(t *testing.T) {
	packets, opaque := map[string]int{}, map[string][]int{}
	for _, file := range recordings {
		s := load(t, file)
		name := filepath.Base(file)
		for i := range s.Packets {
			p := &s.Packets[i]
			packets[name]++
			want := p.Bytes[:len(p.Bytes)-ibta.ICRCSize]
			if got := p.Encode(); !bytes.Equal(got, want) {
				t.Errorf("%s: %v encoded again\n% x, was\n% x", file, p, got, want)
			}
			if c := p.CM; c != nil && len(bytes.Trim(c.Private, "\x00")) > 0 {
				opaque[name] = append(opaque[name], p.Frame)
			}
			if !p.OpCode.IsSend() {
				continue
			}
			if understood := p.Msg != nil || p.CM != nil; !understood {
				t.Errorf("%s: %v is not understood", file, p)
			}
		}
	}
	want := map[string]int{
		filepath.Base(activePing): 9, filepath.Base(passivePing): 7, filepath.Base(rejects): 31, filepath.Base(bulk): 1163,
	}
	if diff := cmp.Diff(want, packets); diff != "" {
		t.Errorf("packets (-want +got)\n%s", diff)
	}
	// Frame 10 has version 0x13, frame 12 an RDMA-CM header without an IP version.
	if diff := cmp.Diff(map[string][]int{filepath.Base(rejects): {10, 12}}, opaque); diff != "" {
		t.Errorf("not understood (-want +got)\n%s", diff)
	}
}

// TestNoOtherRecording fails when a recording is added that no test here plays.
func TestNoOtherRecording(t *testing.T) {
	var names []string
	for _, dir := range []string{"../../../capture/testdata", "../../../../../shared/captures"} {
		files, err := filepath.Glob(filepath.Join(dir, "o2ib-*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			names = append(names, filepath.Base(f))
		}
	}
	for _, name := range names {
		known := false
		for _, file := range recordings {
			known = known || filepath.Base(file) == name || filepath.Base(file) == name+".gz"
		}
		if !known {
			t.Errorf("%s is played by nobody", name)
		}
	}
	if len(names) < 3 {
		t.Errorf("recordings found: %v", names)
	}
}
