package capture_test

import (
	"errors"
	"os"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"ulnet/lnd/capture"
)

// pings returns the packets of a capture.
func pings(t *testing.T) []capture.Packet {
	t.Helper()
	f, err := os.Open("testdata/tcp-ping.pcap")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return readPackets(t, f)
}

// TestOwnPanic: the dissector recovers from panics of the assembler, but not from those of
// the code that the assembler calls.
func TestOwnPanic(t *testing.T) {
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		if r.Kind == capture.Hello { // the assembler has called the decoder, which calls this function
			panic("ours")
		}
	})
	defer func() {
		if why := recover(); why != "ours" {
			t.Errorf("recovered %v, want our own panic", why)
		}
	}()
	for _, p := range pings(t) {
		d.Packet(p.Time, p.Link, p.Data)
	}
}

// TestAssemblerPanic: a connection at which the assembler panics is given up, and counted;
// other connections are not affected.
func TestAssemblerPanic(t *testing.T) {
	var kinds []capture.Kind
	var cause error
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		kinds = append(kinds, r.Kind)
		cause = r.Err
	})
	d.BreakAssembler()
	for _, p := range pings(t) {
		if d.Packet(p.Time, p.Link, p.Data) {
			break // the first SYN; ARP packets come before it
		}
	}
	if n := d.Counts().Broken; n != 1 || len(kinds) != 2 || kinds[0] != capture.Opened || kinds[1] != capture.Closed {
		t.Errorf("%d connections counted as broken, records %v", n, kinds)
	}
	if !errors.Is(cause, capture.ErrLost) {
		t.Errorf("connection ends with %v, want ErrLost", cause)
	}
	d.Close()
}

// TestLayerPanic: a packet at which a decoder of gopacket panics is malformed.
func TestLayerPanic(t *testing.T) {
	const unused = 200 // a link type that gopacket does not know
	old := layers.LinkTypeMetadata[unused]
	t.Cleanup(func() { layers.LinkTypeMetadata[unused] = old })
	layers.LinkTypeMetadata[unused] = layers.EnumMetadata{
		DecodeWith: gopacket.DecodeFunc(func([]byte, gopacket.PacketBuilder) error { panic("index out of range") }),
	}
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) { t.Errorf("record %v", r) })
	p := pings(t)[0]
	if d.Packet(p.Time, unused, p.Data) {
		t.Error("belongs to port 988")
	}
	if n := d.Counts().Malformed; n != 1 {
		t.Errorf("%d packets counted as malformed, want 1", n)
	}
	d.Close()
}
