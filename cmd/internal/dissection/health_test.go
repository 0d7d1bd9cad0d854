package dissection

import (
	"os"
	"path/filepath"
	"testing"

	healthwire "ulnet/health/wire"
	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/effort"
)

// healthFile is the capture that testdata/health.txt prints, recorded by healthExchange.
var healthFile = filepath.Join(captures, "health.pcapng")

// TestHealthExchange: a live exchange is parsed like the recorded one. If UPDATE is set, the
// live exchange replaces the recording.
func TestHealthExchange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "health.pcapng")
	if os.Getenv("UPDATE") != "" {
		file = healthFile
	}
	if err := os.WriteFile(file, healthExchange(t), 0o644); err != nil {
		t.Fatal(err)
	}
	checkHealth(t, file)
}

// TestHealthRecorded: the recorded exchange is parsed completely.
func TestHealthRecorded(t *testing.T) { checkHealth(t, healthFile) }

// TestHealthTshark: Wireshark reads the same capture.
func TestHealthTshark(t *testing.T) {
	effort.OneGoroutine(t)
	capturetest.AgreeWithTshark(t, healthFile)
}

// checkHealth fails the test unless a capture has the messages of the exchange and all of them
// are parsed.
func checkHealth(t *testing.T, file string) {
	known := NewProtocols(nil)
	seen := map[string]int{}
	capturetest.Decode(t, file, func(r *capture.Record) {
		p := known.Read(r).said
		if p.Err != nil {
			t.Errorf("frame %d: %v", r.Frame, p.Err)
			return
		}
		switch m := p.Is.(type) {
		case *healthMessage:
			seen[m.Kind.String()]++
			if len(m.remarks) > 0 {
				t.Errorf("frame %d: odd: %v", r.Frame, m.remarks)
			}
		case *collectiveRequest:
			seen["request"]++
			if b := m.evictions; b == nil || b.Entries.Len() != 1 || b.Entries.At(0).Mark != uint8(healthwire.ByAdmin) {
				t.Errorf("frame %d: %s", r.Frame, m.Summary())
			}
		case *collectiveReply:
			seen["reply"]++
			if m.evictions == nil || m.evictions.Reply.Evicted == 0 {
				t.Errorf("frame %d: %s", r.Frame, m.Summary())
			}
		}
	})
	for kind, least := range map[string]int{
		"connect": 2 * healthServers, "accept": 2 * healthServers, "ping": 1, "pong": 1, "disconnect": 1, "request": 2, "reply": 2,
	} {
		if seen[kind] < least {
			t.Errorf("%d of %s, want %d at least; found %v", seen[kind], kind, least, seen)
		}
	}
}
