package dissection

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/effort"
	selftestwire "ulnet/lnet/selftest/wire"
)

// consoleFiles are captures of kernel consoles and test nodes, with the number of RPCs and of
// bulk data in each. They have every request of a session, clients with lists of destinations,
// and refusals.
var consoleFiles = map[string]struct{ rpcs, bulks int }{
	"captures2/tcp-lst-console.pcap.gz":      {326, 7},
	"captures2/tcp-lst-two-consoles.pcap.gz": {9, 0},
	"captures2/tcp-mr-two-rails.pcap.gz":     {8, 4},
	"captures2/tcp-route-basic-near.pcap.gz": {11, 3},
	"tcp-lst-ping.pcap":                      {8, 0},
}

// TestSelftestRecorded: every message of kernel nodes is understood, has nothing odd, and each
// reply and all bulk data are related to their request.
func TestSelftestRecorded(t *testing.T) {
	destinations := 0
	for file, want := range consoleFiles {
		known := NewProtocols(nil)
		requests, replies, bulks := 0, 0, 0
		capturetest.Decode(t, filepath.Join("../../../lnd/capture/testdata", file), func(r *capture.Record) {
			p := known.Read(r).said
			if p.Protocol != "selftest" {
				return
			}
			if p.Err != nil || strings.Contains(p.Is.Summary(), "odd") || strings.Contains(p.Is.Summary(), "not in this capture") {
				t.Errorf("%s, frame %d: %v, %v", file, r.Frame, p.Is, p.Err)
			}
			switch is := p.Is.(type) {
			case *selftestRequest:
				requests++
			case *selftestReply:
				replies++
			case *selftestBulk:
				bulks++
				destinations += len(is.destinations)
			}
		})
		if requests != want.rpcs || replies != want.rpcs || bulks != want.bulks {
			t.Errorf("%s: %d requests, %d replies, %d bulk data, want %+v", file, requests, replies, bulks, want)
		}
	}
	if destinations == 0 {
		t.Error("no list of destinations")
	}
}

// TestSelftestTshark: Wireshark reads the captures that testdata/selftest.txt prints. The test checks all
// of them only in the long form, and otherwise one, because each start of tshark takes most of a second.
func TestSelftestTshark(t *testing.T) {
	effort.OneGoroutine(t)
	files := []string{"tcp-lst-two-consoles.pcap", "tcp-csum-v3-lst.pcap", "tcp-lst-brw-read-4K-simple.pcap"}
	for _, file := range effort.Of(files[1:2], files[1:2], files) {
		capturetest.AgreeWithTshark(t, filepath.Join(captures, file))
	}
}

// TestSelftestFields: the JSON and the details of a message have each field of its body.
func TestSelftestFields(t *testing.T) {
	q := &selftestRequest{Message: selftestwire.Message{
		ReplyID: 0x12,
		Body: &selftestwire.Test{
			BulkID: 0x13, Session: selftestwire.NoSession(), Batch: 2, Service: selftestwire.BRWService, Loop: -1, Concurrency: 8,
			Client: true, StopOnError: true, Destinations: 3, BRW: selftestwire.BRWParams{Op: selftestwire.Read, Check: selftestwire.CheckFull, Length: 4096},
		},
	}}
	q.Type = q.Body.Type()
	text, err := q.MarshalJSON()
	want := `{"kind":"request","service":"test","rpc":"0x12","features":0,"bulk_id":"0x13","session":"none","batch":"0x2","service":"brw","loop":-1,` +
		`"concurrency":8,"client":true,"stop_on_error":true,"destinations":3,` +
		`"brw":{"op":"read","check":"full","length":4096,"offset":0,"pages":0},"ping":{"size":0,"flags":0}}`
	if got := strings.ReplaceAll(string(text), "\n", ""); got != want || err != nil {
		t.Errorf("got  %s\nwant %s (%v)", got, want, err)
	}
	for _, line := range []string{"bulk id 0x13", "loop -1", "brw: op read, check full, length 4096, offset 0, pages 0"} {
		if !slices.Contains(q.Details(), line) {
			t.Errorf("no %q in %q", line, q.Details())
		}
	}
}
