package capture_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// bulkStream returns what the initiator sends on a connection with n PUTs of 1 MiB.
func bulkStream(n int) []byte {
	runs := bulkRuns(0)
	return append(slices.Clone(runs[0].bytes), bytes.Repeat(runs[2].bytes, n)...)
}

// segment is a TCP segment from 10.0.0.1 port 1023 to 10.0.0.2 port 988, or back.
type segment struct {
	back   bool
	id     uint16 // identification of IPv4
	seq    uint32
	ack    uint32
	flags  byte
	window uint16
	data   []byte
}

// frame returns the segment in an Ethernet frame.
func (s segment) frame() []byte {
	b := make([]byte, 14+20, 14+40+len(s.data))
	b[12] = 8 // EtherType of IPv4
	ip := b[14:]
	ip[0], ip[8], ip[9] = 0x45, 64, 6
	binary.BigEndian.PutUint16(ip[2:], uint16(40+len(s.data)))
	binary.BigEndian.PutUint16(ip[4:], s.id)
	ends, ports := []byte{10, 0, 0, 1, 10, 0, 0, 2}, []uint16{1023, 988}
	if s.back {
		ends, ports = []byte{10, 0, 0, 2, 10, 0, 0, 1}, []uint16{988, 1023}
	}
	copy(ip[12:], ends)
	b = binary.BigEndian.AppendUint16(b, ports[0])
	b = binary.BigEndian.AppendUint16(b, ports[1])
	b = binary.BigEndian.AppendUint32(b, s.seq)
	b = binary.BigEndian.AppendUint32(b, s.ack)
	b = append(b, 5<<4, s.flags)
	b = binary.BigEndian.AppendUint16(b, s.window)
	return append(append(b, 0, 0, 0, 0), s.data...)
}

const (
	synFlag = 0x02
	rstFlag = 0x04
	ackFlag = 0x10
)

// frames returns a pcap file with a stream in segments of 1448 bytes.
func frames(stream []byte) []byte {
	file := pcapFile(binary.LittleEndian, 0xa1b2c3d4)[:24]
	write := func(s segment) {
		f := s.frame()
		file = binary.LittleEndian.AppendUint32(append(file, make([]byte, 8)...), uint32(len(f)))
		file = append(binary.LittleEndian.AppendUint32(file, uint32(len(f))), f...)
	}
	write(segment{flags: synFlag, window: 1000})
	for seq := uint32(1); len(stream) > 0; {
		n := min(1448, len(stream))
		write(segment{seq: seq, flags: ackFlag, window: 1000, data: stream[:n]})
		seq, stream = seq+uint32(n), stream[n:]
	}
	return file
}

// TestPlainPackets: packets that takePlain dissects give the same records and counts as the same packets
// with a VLAN tag, whose headers gopacket decodes.
func TestPlainPackets(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pcap")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		packets := readPackets(t, bytes.NewReader(readFile(t, file)))
		tagged := slices.Clone(packets)
		for i, p := range tagged {
			tagged[i].Data = slices.Concat(p.Data[:12], []byte{0x81, 0, 0, 7}, p.Data[12:])
		}
		if diff := cmp.Diff(dissected(tagged), dissected(packets)); diff != "" {
			t.Errorf("%s (-tagged +plain):\n%s", file, diff)
		}
	}
}

// dissected describes all records and counts of packets.
func dissected(packets []capture.Packet) (lines []string) {
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		lines = append(lines, fmt.Sprintf("%d %v %d %v %d %d %x %v", r.Frame, r.Type(), r.Kind, r.Conn.Ends, r.From, r.Offset, r.Raw, r.Err))
	})
	for _, p := range packets {
		d.Packet(p.Time, p.Link, p.Data)
	}
	d.Close()
	return append(lines, fmt.Sprintf("%+v", d.Counts()))
}

// TestPlainCutHeaders: each packet that is cut off inside its headers is counted once, as malformed,
// truncated or other.
func TestPlainCutHeaders(t *testing.T) {
	effort.OneGoroutine(t)
	whole := segment{seq: 1, flags: ackFlag, window: 1, data: []byte("data")}.frame()
	for n := range whole {
		for link, data := range map[capture.LinkType][]byte{
			capture.LinkEthernet: whole[:n], capture.LinkRaw: whole[min(n, 14):n],
			capture.LinkLinuxSLL2: slices.Concat([]byte{8, 0}, make([]byte, 18), whole[min(n, 14):n]),
		} {
			d := capture.NewDissector(capture.Options{}, func(*capture.Record) {})
			d.Packet(time.Unix(0, 0), link, data)
			c := d.Counts()
			if c.Malformed+c.Truncated+c.Other != 1 || c.Packets != 1 {
				t.Errorf("link type %d, %d bytes: %+v", link, n, c)
			}
		}
	}
}

// TestTCPCounts: retransmissions, late segments and closed windows are counted for the side that
// sent them; probes of keepalive are none of these.
func TestTCPCounts(t *testing.T) {
	stream := bulkStream(1)[:4000]
	part := func(from, to int) segment {
		return segment{seq: uint32(1 + from), flags: ackFlag, window: 9, data: stream[from:to]}
	}
	answer := func(window uint16) segment { return segment{back: true, seq: 1, flags: ackFlag, window: window} }
	var conn *capture.Conn
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) { conn = r.Conn })
	for i, s := range []segment{
		{flags: synFlag, window: 9},
		{back: true, flags: synFlag | ackFlag, window: 9},
		part(0, 1000),
		part(0, 1000),    // a retransmission
		part(2000, 3000), // a segment behind a gap
		part(1000, 2000), // the segment that fills the gap, captured late
		part(1500, 2500), // a retransmission that is divided into other segments
		part(2999, 3000), // a keepalive probe
		answer(0),        // the receive window is closed for three seconds, until answer(5)
		answer(0),
		answer(0),
		answer(5),
		answer(0), // the receive window is closed until the end, for one second
		part(3000, 4000),
	} {
		d.Packet(time.Unix(int64(i), 0), capture.LinkEthernet, s.frame())
	}
	d.Close()
	want := [2]capture.TCPCounts{{Repeated: 2, Late: 1}, {ZeroWindows: 2, ZeroWindow: 4 * time.Second}}
	if conn.TCP != want {
		t.Errorf("%+v, want %+v", conn.TCP, want)
	}
}

// TestPlainAllocations: a segment of a message costs no allocation, and its payload is not copied.
func TestPlainAllocations(t *testing.T) {
	spec.Covers(t, "G-OP-3")
	d := capture.NewDissector(capture.Options{KeepPayload: 256}, func(*capture.Record) {})
	stream := bulkStream(2)
	d.Packet(time.Unix(0, 0), capture.LinkEthernet, segment{flags: synFlag, window: 9}.frame())
	at := 0
	next := segment{flags: ackFlag, window: 9, data: make([]byte, 1448)}.frame()
	give := func() {
		binary.BigEndian.PutUint32(next[14+20+4:], uint32(1+at))
		copy(next[14+40:], stream[at:])
		at += 1448
		d.Packet(time.Unix(0, 0), capture.LinkEthernet, next)
	}
	for range 100 {
		give()
	}
	if n := testing.AllocsPerRun(600, give); n > 0 { // all these segments are in one message
		t.Errorf("%v allocations for a segment", n)
	}
}
