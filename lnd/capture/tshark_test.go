package capture_test

import (
	"path/filepath"
	"testing"

	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/effort"
)

// TestTshark compares all messages of v2 and v3 with what tshark finds; it
// cannot read v1 and v4.
func TestTshark(t *testing.T) {
	for _, dir := range captureDirs {
		if testing.Short() && dir.name != "testdata" {
			continue // tshark takes seconds for this capture
		}
		files, _ := filepath.Glob(filepath.Join(dir.path, "tcp-*.pcap"))
		for _, file := range effort.Some(8, files) {
			if v1, _ := filepath.Match("tcp-proto-v1-*", filepath.Base(file)); v1 {
				continue
			}
			t.Run(dir.name+"/"+filepath.Base(file), func(t *testing.T) {
				if len(capturetest.Messages(t, file)) == 0 {
					t.Skip("no message in it")
				}
				capturetest.AgreeWithTshark(t, file)
			})
		}
	}
}
