package capture_test

import (
	"path/filepath"
	"strings"
	"testing"

	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
)

// TestCapturedSources: the source of each message from a kernel is the NID in the HELLO of
// its connection, also of kernels with several NIs, in every version of the protocol. That is
// why lnet drops messages with another source. Only routers send messages of other nodes.
func TestCapturedSources(t *testing.T) {
	type side struct {
		conn *capture.Conn
		from capture.Side
	}
	for _, dir := range []string{"testdata", "testdata/captures2", "../../../shared/captures"} {
		files, err := filepath.Glob(filepath.Join(dir, "tcp*.pcap*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.Contains(file, "route") {
				continue
			}
			names, messages := map[side]nid.ProcessID{}, 0
			decodeFile(t, file, func(r *capture.Record) {
				at := side{r.Conn, r.From}
				switch r.Kind {
				case capture.Hello:
					names[at] = nid.ProcessID{NID: r.Hello.SrcNID, PID: r.Hello.SrcPID}
				case capture.Message:
					messages++
					if got := (nid.ProcessID{NID: r.Header.SrcNID, PID: r.Header.SrcPID}); got != names[at] {
						t.Errorf("%s at %d: %v from %v on a connection of %v", file, r.Offset, r.Header.Type, got, names[at])
					}
				}
			})
			t.Logf("%s: %d messages", filepath.Base(file), messages)
		}
	}
}
