package capture_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
)

// pcapFile builds a pcap file with one packet of 4 bytes.
func pcapFile(o binary.AppendByteOrder, magic uint32) []byte {
	b := o.AppendUint32(nil, magic)
	b = o.AppendUint32(b, 0x00040002) // major and minor version; the Reader ignores them
	b = append(b, make([]byte, 8)...)
	b = o.AppendUint32(b, 65535)
	b = o.AppendUint32(b, 1) // link type: Ethernet
	b = o.AppendUint32(b, 1000)
	b = o.AppendUint32(b, 7)
	b = o.AppendUint32(b, 4)
	b = o.AppendUint32(b, 60)
	return append(b, "data"...)
}

// block builds a block of pcapng.
func block(o binary.AppendByteOrder, typ uint32, body ...byte) []byte {
	length := uint32(12 + len(body))
	b := o.AppendUint32(nil, typ)
	b = o.AppendUint32(b, length)
	b = append(b, body...)
	return o.AppendUint32(b, length)
}

// ngFile builds a pcapng file with the given option in its interface and one
// packet, 3000000007 units after the epoch.
func ngFile(o binary.AppendByteOrder, option ...byte) []byte {
	section := o.AppendUint32(nil, 0x1A2B3C4D)
	section = append(section, make([]byte, 12)...)
	b := block(o, 0x0A0D0D0A, section...)
	i := o.AppendUint16(nil, 101)
	i = append(i, make([]byte, 6)...)
	if len(option) > 0 {
		i = o.AppendUint16(i, uint16(option[0]))
		i = o.AppendUint16(i, uint16(len(option)-1))
		i = append(append(i, option[1:]...), make([]byte, (5-len(option)%4)%4)...)
		i = append(i, 0, 0, 0, 0)
	}
	b = append(b, block(o, 1, i...)...)
	b = append(b, block(o, 0x0BAD, []byte("nobody knows")...)...)
	p := o.AppendUint32(nil, 0)
	p = o.AppendUint32(p, 0)
	p = o.AppendUint32(p, 3000000007)
	p = o.AppendUint32(p, 3)
	p = o.AppendUint32(p, 3)
	return append(b, block(o, 6, append(p, "abc\x00"...)...)...)
}

func TestReaderFormats(t *testing.T) {
	little, big := binary.LittleEndian, binary.BigEndian
	ethernet := capture.Packet{Link: capture.LinkEthernet, Data: []byte("data"), Length: 60}
	raw := capture.Packet{Link: capture.LinkRaw, Data: []byte("abc"), Length: 3}
	at := func(p capture.Packet, s, ns int64) []capture.Packet {
		p.Time = time.Unix(s, ns).UTC()
		return []capture.Packet{p}
	}
	simple := append(ngFile(little), block(little, 3, append(little.AppendUint32(nil, 3), "xyz\x00"...)...)...)
	obsolete := append(ngFile(big), block(big, 2, append(unhex("0000 0001 00000000 00000001 00000002 00000009"), "xy\x00\x00"...)...)...)
	tests := []struct {
		name string
		file []byte
		want []capture.Packet
	}{
		{"pcap", pcapFile(little, 0xa1b2c3d4), at(ethernet, 1000, 7000)},
		{"pcap big-endian", pcapFile(big, 0xa1b2c3d4), at(ethernet, 1000, 7000)},
		{"pcap nanoseconds", pcapFile(little, 0xa1b23c4d), at(ethernet, 1000, 7)},
		{"pcap nanoseconds big-endian", pcapFile(big, 0xa1b23c4d), at(ethernet, 1000, 7)},
		{"pcapng", ngFile(little), at(raw, 3000, 7000)},
		{"pcapng big-endian", ngFile(big), at(raw, 3000, 7000)},
		{"pcapng nanoseconds", ngFile(little, 9, 9), at(raw, 3, 7)},
		{"pcapng seconds", ngFile(little, 9, 0), at(raw, 3000000007, 0)},
		{"pcapng picoseconds", ngFile(little, 9, 12), at(raw, 0, 3000000)},
		{"pcapng 2^-20", ngFile(little, 9, 0x80|20), at(raw, 2861, 22955894)},
		{"pcapng offset", ngFile(big, 14, 0, 0, 0, 0, 0, 0, 0, 5), at(raw, 3005, 7000)},
		{"pcapng simple", simple, append(at(raw, 3000, 7000), capture.Packet{Link: capture.LinkRaw, Data: []byte("xyz"), Length: 3})},
		{"pcapng obsolete", obsolete, append(at(raw, 3000, 7000), capture.Packet{Time: time.Unix(0, 1000).UTC(), Link: capture.LinkRaw, Data: []byte("xy"), Length: 9})},
		{"pcapng two sections", append(ngFile(little), ngFile(big)...), append(at(raw, 3000, 7000), at(raw, 3000, 7000)...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, readPackets(t, iotest.OneByteReader(bytes.NewReader(tt.file)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReaderDamaged: of a capture that is cut off or damaged, the Reader returns the packets before the
// damage, and an error with the offset of the damage.
func TestReaderDamaged(t *testing.T) {
	little := binary.LittleEndian
	pcap, ng := pcapFile(little, 0xa1b2c3d4), ngFile(little)
	const ngPacket = 28 + 20 + 24 // offset of the packet block in the file
	tests := []struct {
		name    string
		file    []byte
		packets int
		offset  int64
		text    string
	}{
		{"pcap cut in its header", pcap[:20], 0, 0, "damaged capture at byte 0: it ends inside a record"},
		{"pcap cut in a record", append(bytes.Clone(pcap), pcap[24:41]...), 1, 44, "damaged capture at byte 44: it ends inside a record"},
		{"pcap cut in a record header", append(bytes.Clone(pcap), 1, 2, 3), 1, 44, "damaged capture at byte 44: it ends inside a record"},
		{"pcap packet of 4 GiB", patch(pcap, 32, "ffffffff"), 0, 24, "damaged capture at byte 24: packet of 4294967295 bytes"},
		{"pcapng cut in a block", ng[:len(ng)-2], 0, ngPacket, "damaged capture at byte 72: it ends inside a record"},
		{"pcapng cut in its section", ng[:10], 0, 0, "damaged capture at byte 0: it ends inside a record"},
		{"pcapng without byte order", patch(ng, 8, "00000000"), 0, 0, "damaged capture at byte 0: section without byte order"},
		{"pcapng block of 4 GiB", patch(ng, ngPacket+4, "fcffffff"), 0, ngPacket, "damaged capture at byte 72: block of 4294967292 bytes"},
		{"pcapng block of 3 bytes", patch(ng, ngPacket+4, "03000000"), 0, ngPacket, "damaged capture at byte 72: block of 3 bytes"},
		{"pcapng lengths differ", patch(ng, len(ng)-4, "00010000"), 0, ngPacket, "damaged capture at byte 72: block of 36 bytes ends as one of 256"},
		{"pcapng packet longer than its block", patch(ng, ngPacket+20, "ff000000"), 0, ngPacket, "damaged capture at byte 72: packet of 255 bytes in a block of 36"},
		{"pcapng interface missing", patch(ng, ngPacket+8, "01000000"), 0, ngPacket, "damaged capture at byte 72: packet of interface 1, which is not described"},
		{"pcapng time stamps of 10^-20", ngFile(little, 9, 20), 0, 28, "damaged capture at byte 28: time stamps of resolution 0x14"},
		{"pcapng time stamps of 2^-64", ngFile(little, 9, 0x80|64), 0, 28, "damaged capture at byte 28: time stamps of resolution 0xc0"},
		{"pcapng interface without fields", append(bytes.Clone(ng), block(little, 1, 1, 0, 0, 0)...), 1, int64(len(ng)), "damaged capture at byte 108: bad interface description"},
		{"pcapng packet without fields", append(bytes.Clone(ng), block(little, 6, 1, 0, 0, 0)...), 1, int64(len(ng)), "damaged capture at byte 108: packet block without header"},
		{"pcapng simple packet without fields", append(bytes.Clone(ng), block(little, 3)...), 1, int64(len(ng)), "damaged capture at byte 108: simple packet block without interface or header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			packets := 0
			r, err := capture.NewReader(bytes.NewReader(tt.file))
			for err == nil {
				if _, err = r.Next(); err == nil {
					packets++
				}
			}
			damage, ok := errors.AsType[*capture.DamageError](err)
			if !ok || !errors.Is(err, capture.ErrDamaged) || damage.Offset != tt.offset || errors.Is(err, capture.ErrIncomplete) != strings.Contains(tt.text, "it ends") || err.Error() != tt.text {
				t.Errorf("error %q, want %q", err, tt.text)
			}
			if packets != tt.packets {
				t.Errorf("%d packets, want %d", packets, tt.packets)
			}
		})
	}
}

func TestReaderRefuses(t *testing.T) {
	for _, file := range []string{"", "ab", "a text file\n"} {
		if _, err := capture.NewReader(bytes.NewReader([]byte(file))); err == nil {
			t.Errorf("%q is taken for a capture", file)
		}
	}
	broken := errors.New("cable pulled")
	b := pcapFile(binary.LittleEndian, 0xa1b2c3d4)
	r, err := capture.NewReader(io.MultiReader(bytes.NewReader(b), iotest.ErrReader(broken)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) || errors.Is(err, capture.ErrDamaged) {
		t.Errorf("error of the source: %v", err)
	}
}

func FuzzReader(f *testing.F) {
	for _, file := range fuzzFiles[:2] {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(pcapFile(binary.BigEndian, 0xa1b23c4d))
	f.Add(ngFile(binary.LittleEndian, 9, 9))
	f.Add(ngFile(binary.BigEndian, 14, 0, 0, 0, 0, 0, 0, 0, 5))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := capture.NewReader(bytes.NewReader(b))
		for err == nil {
			var p capture.Packet
			p, err = r.Next()
			if len(p.Data) > len(b) {
				t.Fatalf("packet of %d bytes in a file of %d", len(p.Data), len(b))
			}
		}
		if d, ok := errors.AsType[*capture.DamageError](err); ok && d.Offset > int64(len(b)) {
			t.Fatalf("damage at byte %d of %d", d.Offset, len(b))
		}
	})
}
