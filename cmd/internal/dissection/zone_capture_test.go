package dissection

import (
	"path/filepath"
	"strings"
	"testing"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/effort"
)

// zoneFile is the capture that testdata/zone.txt prints.
var zoneFile = filepath.Join(captures, "zone.pcapng")

// TestZoneDecodes: all messages of a recorded exchange are parsed, every kind of message that
// nodes of a zone send is in it, and every sender has a name.
func TestZoneDecodes(t *testing.T) {
	seen, known := map[string]int{}, NewProtocols(nil)
	capturetest.Decode(t, zoneFile, func(r *capture.Record) {
		said := known.Read(r).said
		if said.Protocol != "zone" {
			return
		}
		if said.Err != nil || strings.Contains(said.Is.Summary(), "#") {
			t.Errorf("frame %d: %v, %v", r.Frame, said.Is, said.Err)
		}
		seen[strings.Fields(said.Is.Summary())[1]]++
	})
	for _, kind := range []string{
		"heartbeat,", "link-request,", "link-accept,", "base,", "update,", "discovery-request,", "discovery-reply,",
		"attribute-digest,", "attribute-request,", "attribute-data,", "notice,", "register,", "registered,", "alarm,",
	} {
		if seen[kind] == 0 {
			t.Errorf("there is no %s in %v", kind, seen)
		}
	}
}

// TestZoneTshark: Wireshark reads the same capture.
func TestZoneTshark(t *testing.T) {
	effort.OneGoroutine(t)
	capturetest.AgreeWithTshark(t, zoneFile)
}
