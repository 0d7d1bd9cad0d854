package capture_test

import (
	"path/filepath"
	"testing"

	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/effort"
)

// TestTsharkOnRoCE compares the messages of the connection manager and of o2iblnd in
// recordings of kernels with what tshark finds.
func TestTsharkOnRoCE(t *testing.T) {
	effort.OneGoroutine(t)
	for _, name := range []string{"active", "passive"} {
		t.Run(name, func(t *testing.T) {
			capturetest.AgreeOnRoCE(t, filepath.Join("testdata", "o2ib-rxe-"+name+"-ping.pcap"))
		})
	}
}
