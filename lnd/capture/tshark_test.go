package capture_test

import (
	"os"
	"path/filepath"
	"testing"

	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/effort"
)

// TestTshark compares all messages of v2 and v3 with what tshark finds; it
// cannot read v1 and v4. A capture that lies in two folders is compared once. The start of
// tshark takes half a second, so only a long run compares all captures.
func TestTshark(t *testing.T) {
	effort.OneGoroutine(t)
	compared := map[string]bool{} // captures that were compared, by their contents
	for _, dir := range captureDirs {
		if testing.Short() && dir.name != "testdata" {
			continue // tshark takes seconds for this capture
		}
		files, _ := filepath.Glob(filepath.Join(dir.path, "tcp-*.pcap"))
		for _, file := range every(effort.Of(8, 4, 1), files) {
			if v1, _ := filepath.Match("tcp-proto-v1-*", filepath.Base(file)); v1 {
				continue
			}
			t.Run(dir.name+"/"+filepath.Base(file), func(t *testing.T) {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if compared[string(b)] {
					t.Skip("compared already: it lies in another folder, too")
				}
				compared[string(b)] = true
				if len(capturetest.Messages(t, file)) == 0 {
					t.Skip("no message in it")
				}
				capturetest.AgreeWithTshark(t, file)
			})
		}
	}
}

// every returns every nth file, the first one included.
func every(n int, files []string) (some []string) {
	for i := 0; i < len(files); i += n {
		some = append(some, files[i])
	}
	return some
}
