package main

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/spec"
)

// TestFollowFile: lnetdump reads on when a file grows, and reports again.
func TestFollowFile(t *testing.T) {
	spec.Covers(t, "DG-11")
	whole, err := os.ReadFile(filepath.Join("testdata", "captures", "tcp-ping.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "growing.pcap")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	grow := func(from, to int) {
		t.Helper()
		if _, err := out.Write(whole[from:to]); err != nil {
			t.Fatal(err)
		}
	}
	grow(0, 3)
	lines := startWatch(t, "--follow", file)
	reports := startWatch(t, "--analyze", "--follow", "--json", "--interval", "5ms", file)
	grow(3, 2850) // the file now ends inside the header of a packet
	lines.expect(t, "HELLO")
	reports.expect(t, `"connections":3,"open":3`)
	grow(2850, len(whole))
	lines.expect(t, "REPLY of 48 bytes")
	reports.expect(t, `"kind":"get-reply","portal":0,"asked":2,"answered":2,"unanswered":0`)
	lines.end(t)
	reports.end(t)
}

// TestFollowDaemon: a report on a live capture is printed again and again, and a message without an
// answer waits longer each time.
func TestFollowDaemon(t *testing.T) {
	spec.Covers(t, "DG-11")
	tap, err := capture.NewWriter(nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	flow := tap.Flow(netip.MustParseAddrPort("127.0.0.2:1000"), netip.MustParseAddrPort("127.0.0.1:10988"), true)
	flow.Sent(opening)
	w := startWatch(t, "--analyze", "--follow", "--interval", "5ms", "--socket", serveTap(t, tap))
	w.expect(t, "0 messages") // lnetdump's first report
	flow.Received(opening[16:])
	get := unhex("c1000000 00000000 0000000000000000 0000000000000000" +
		"0100007f00000200 0200007f00000200 39300000 39300000 02000000 00000000" +
		"0700000000000000 0900000000000000 0000000000000080 00000000 00000000 10010000 00000000")
	flow.Sent(get)
	w.expect(t, "GET→REPLY (ping)  0       1      0         1")
	w.expect(t, "Without an answer:")
	w.expect(t, "Without an answer:")
	w.end(t)
}
