package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/capture"
)

// TestSaveTagged: packets with a VLAN tag that were captured at the pseudo-interface "any" can be read after they
// were written.
func TestSaveTagged(t *testing.T) {
	f, err := os.Open("../../lnd/capture/testdata/tcp-ping.pcap")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := capture.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s, err := newSaver("-", &out)
	if err != nil {
		t.Fatal(err)
	}
	want, n := map[string]int{}, 0
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) { want[r.Type()]++ })
	for p, err := in.Next(); err == nil; p, err = in.Next() {
		tagged := append([]byte{0x81, 0}, make([]byte, 18)...) // a header of SLL2 whose protocol is that of a tag
		plain := append([]byte{0x08, 0}, make([]byte, 18)...)
		if n++; n%2 == 0 {
			p.Link, p.Data, p.Length = capture.LinkLinuxSLL2, slices.Concat(tagged, []byte{0, 7}, p.Data[12:]), p.Length+10
		} else {
			p.Link, p.Data, p.Length = capture.LinkLinuxSLL2, slices.Concat(plain, p.Data[14:]), p.Length+6
		}
		if d.Packet(p.Time, p.Link, p.Data) {
			if err := s.packet(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.Close()
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	again := capture.NewDissector(capture.Options{}, func(r *capture.Record) { got[r.Type()]++ })
	if types := linkTypes(out.Bytes()); !slices.Equal(types, []capture.LinkType{capture.LinkEthernet}) {
		t.Errorf("link types %d", types)
	}
	if in, err = capture.NewReader(&out); err != nil {
		t.Fatal(err)
	}
	for p, err := in.Next(); err == nil; p, err = in.Next() {
		again.Packet(p.Time, p.Link, p.Data)
	}
	again.Close()
	if want["GET"] == 0 || got["GET"] != want["GET"] || got["HELLO"] != want["HELLO"] || again.Counts().Malformed != 0 {
		t.Errorf("%v, want %v; %+v", got, want, again.Counts())
	}
}

// linkTypes returns those of the interfaces of a pcapng capture.
func linkTypes(b []byte) (types []capture.LinkType) {
	const description = 1 // type of an Interface Description Block
	for len(b) >= 12 {
		if binary.LittleEndian.Uint32(b) == description {
			types = append(types, capture.LinkType(binary.LittleEndian.Uint16(b[8:])))
		}
		b = b[binary.LittleEndian.Uint32(b[4:]):]
	}
	return types
}

// TestSaveStdin: a capture that is read from standard input is written with one link type, that of the input,
// because libpcap needs that.
func TestSaveStdin(t *testing.T) {
	in, err := os.ReadFile("../../lnd/capture/testdata/tcp-ping.pcap")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code := invoke(t.Context(), cli.Env{Stdin: bytes.NewReader(in), Stdout: &out, Stderr: io.Discard}, "-w", "-")
	if types := linkTypes(out.Bytes()); code != cli.OK || !slices.Equal(types, []capture.LinkType{capture.LinkEthernet}) {
		t.Errorf("exit code %d, link types %d", code, types)
	}
}

// TestSaveLive: packets of a live capture are written at once, so that a program behind a pipe gets the beginning
// of the capture at once, and each packet when it is captured.
func TestSaveLive(t *testing.T) {
	tap, err := capture.NewWriter(nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	socket := serveTap(t, tap)
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	exit := make(chan int, 1)
	go func() {
		code := invoke(ctx, cli.Env{Stdin: strings.NewReader(""), Stdout: out, Stderr: io.Discard}, "--socket", socket, "-w", "-")
		out.Close()
		exit <- code
	}()
	defer cancel()
	bound := time.AfterFunc(20*time.Second, func() { in.Close() })
	defer bound.Stop()
	r, err := capture.NewReader(in) // returns once the beginning was written
	if err != nil {
		t.Fatal(err)
	}
	flow := tap.Flow(netip.MustParseAddrPort("127.0.0.2:1000"), netip.MustParseAddrPort("127.0.0.1:10988"), true)
	flow.Sent(opening)
	for range 4 { // the handshake of TCP, and the opening
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	go io.Copy(io.Discard, in)
	if code := <-exit; code != cli.OK {
		t.Errorf("exit code %d", code)
	}
}
