package capture_test

import (
	"path/filepath"
	"slices"
	"testing"

	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestCapturedIdentities checks what discovery relies on to find out the NIDs of one node. A
// kernel node reports the same NIDs, all of them, from each of its NIDs, and the sequence
// numbers that come from one NID never decrease. Status pushes of routers repeat a sequence
// number.
func TestCapturedIdentities(t *testing.T) {
	pairs := 0
	for _, dir := range []string{"testdata", "testdata/captures2", "../../../shared/captures"} {
		files, err := filepath.Glob(filepath.Join(dir, "tcp*.pcap*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			told := make(map[nid.NID]wire.PingInfo) // the latest ping info, by the NID that sent it
			decodeFile(t, file, func(r *capture.Record) {
				if r.Kind != capture.Message || r.Missing > 0 || r.Header.Type != wire.Put && r.Header.Type != wire.Reply {
					return
				}
				info, _, err := wire.ParsePingInfo(r.Payload)
				if err != nil {
					return // this test says nothing of NIDs of other kinds
				}
				from := r.Header.SrcNID
				if last := told[from]; info.Sequence < last.Sequence {
					t.Errorf("%s at %d: %v tells sequence %d after %d", file, r.Offset, from, info.Sequence, last.Sequence)
				}
				told[from] = info
			})
			for from, info := range told {
				for _, ni := range info.NIs {
					if other, spoke := told[ni.NID]; spoke && ni.NID != from {
						pairs++
						if !slices.ContainsFunc(other.NIs, func(back wire.NIStatus) bool { return back.NID == from }) {
							t.Errorf("%s: %v lists %v, which does not list it", file, from, ni.NID)
						}
					}
				}
			}
		}
	}
	t.Logf("%d pairs of NIDs", pairs)
}
