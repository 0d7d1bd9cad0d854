package main

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// writeMulticast writes a capture file as a daemon writes it, with one multicast PUT.
func writeMulticast(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "multicast.pcapng")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	w, err := capture.NewWriter(out, func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	d := wire.Datagram{Payload: []byte("hello"), Header: wire.Header{
		SrcNID: nid.MustParse("10.0.0.1@tcp"), DestNID: nid.MustParse("239.76.0.5@tcp"),
		SrcPID: nid.LustrePID, DestPID: nid.LustrePID, PayloadLength: 5,
	}}
	d.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: 7, Portal: 63})
	b, err := ksock.Datagrams.Append(nil, &d)
	if err != nil {
		t.Fatal(err)
	}
	w.Datagram(netip.MustParseAddrPort("10.0.0.1:40000"), netip.MustParseAddrPort("239.76.0.5:10988"), true, [][]byte{b})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// dumped runs the command and returns what it prints.
func dumped(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }}
	if code := run(t.Context(), env, args); code != 0 || stderr.Len() > 0 {
		t.Fatalf("%v: exit %d, %s", args, code, &stderr)
	}
	return stdout.String()
}

// TestMulticast: RM-A22: the LNet header in a multicast datagram is shown, selected by the usual
// filters, counted and saved.
func TestMulticast(t *testing.T) {
	spec.Covers(t, "RM-A22")
	file := writeMulticast(t)
	const line = "03:04:05.000006 10.0.0.1@tcp → 239.76.0.5@tcp  PUT of 5 bytes to portal 63, match bits 0x7, by multicast\n"
	for _, args := range [][]string{{}, {"--nid", "239.76.0.5@tcp"}, {"--nid", "10.0.0.1@tcp"}, {"--type", "put"}, {"--portal", "63"}} {
		if got := dumped(t, append(args, file)...); got != line {
			t.Errorf("%v: %q, want %q", args, got, line)
		}
	}
	if got := dumped(t, "--type", "get", file); got != "" {
		t.Errorf("another type: %q", got)
	}
	for _, want := range []string{"multicast datagram (10.0.0.1:40000 → 239.76.0.5:10988), 85 bytes", "lnet: type PUT", "portal 63"} {
		if got := dumped(t, "-v", file); !strings.Contains(got, want) {
			t.Errorf("-v: %q, want something of %q", got, want)
		}
	}
	var e struct {
		Multicast  bool
		Connection int
		DestNID    string `json:"dest_nid"`
		Dst        string
		Portal     int
	}
	if err := json.Unmarshal([]byte(dumped(t, "--json", file)), &e); err != nil {
		t.Fatal(err)
	}
	if !e.Multicast || e.Connection != 0 || e.DestNID != "239.76.0.5@tcp" || e.Dst != "239.76.0.5:10988" || e.Portal != 63 {
		t.Errorf("as JSON: %+v", e)
	}
	if got := dumped(t, "--stats", file); !strings.HasPrefix(got, "1 packets, 0 connections, 0 bytes lost") || !strings.Contains(got, "239.76.0.5@tcp") {
		t.Errorf("--stats: %q", got)
	}
	saved := filepath.Join(t.TempDir(), "saved.pcapng")
	dumped(t, "-w", saved, file)
	if got := dumped(t, saved); got != line {
		t.Errorf("saved: %q", got)
	}
}
