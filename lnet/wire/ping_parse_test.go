package wire

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPingTruncated cuts off an info with small and large entries at every byte. The parser
// returns the entries that are there, and the length of the whole as soon as it is known.
func TestPingTruncated(t *testing.T) {
	p := PingInfo{
		Features: FeatureNIStatus | FeatureLargeAddr, PID: 12345, Sequence: 9,
		NIs: []NIStatus{up("10.0.0.1@tcp"), up("10.0.0.2@tcp"), up("fd88::1@tcp"), up("fd88::2@tcp")},
	}
	whole, err := p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	ends := []int{48, 64, 88, 112} // offsets of the ends of the NIs' entries
	for n := range whole {
		got, _, err := ParsePingInfo(whole[:n:n])
		short := new(TruncatedError)
		if !errors.As(err, &short) || !errors.Is(err, ErrShort) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		size, want := len(whole), p
		switch {
		case n < 16:
			size, want = 32, PingInfo{}
		case n < 32:
			size, want = 64, PingInfo{}
		}
		want.NIs = want.NIs[:0:0]
		for i, end := range ends {
			if n >= end {
				want.NIs = p.NIs[:i+1]
			}
		}
		if n < 32 {
			want.NIs = nil
		}
		if short.Size != size {
			t.Errorf("%d bytes: the whole has %d, want %d", n, short.Size, size)
		}
		if diff := cmp.Diff(want, got, equal); diff != "" {
			t.Errorf("%d bytes (-want +got)\n%s", n, diff)
		}
	}
}

// TestTruncatedReply parses a ping reply that was cut off, and then parses as many bytes as the
// error asks for. A requester does the same.
func TestTruncatedReply(t *testing.T) {
	_, info, err := ParseHeader(readHex(t, "reply-three-nis"))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = ParsePingInfo(info[:PingInfoSize(2)])
	short := new(TruncatedError)
	if !errors.As(err, &short) || short.Size != 80 {
		t.Fatalf("%v, want a size of 80", err)
	}
	if p, _, err := ParsePingInfo(info[:short.Size]); err != nil || len(p.NIs) != 3 {
		t.Errorf("%d NIs, %v", len(p.NIs), err)
	}
}

func TestPingLargeEntries(t *testing.T) {
	const fd2 = "0C 02 00 00 FD 88 00 00 00 00 00 00 00 00 00 00 00 00 00 02"
	tests := []struct {
		name    string
		entries string
		want    []string
	}{
		{"ipv6", "DE C0 AA 15 " + fd2, []string{"fd88::2@tcp"}},
		{"none", "", nil},
		{"small NID as large entry", "DE C0 AA 15 00 02 00 00 0A 00 00 01", []string{"10.0.0.1@tcp"}},
		{"padding", "DE C0 AA 15 01 11 00 00 0A 00 00 01 07 EE EE EE DE C0 AA 15 " + fd2, []string{"", "fd88::2@tcp"}},
		{"17 address bytes", "DE C0 AA 15 0D 02 00 00 AA*20 DE C0 AA 15 " + fd2, []string{"fd88::2@tcp"}},
		{"259 address bytes", "DE C0 AA 15 FF 02 00 00 AA*260 DE C0 AA 15 " + fd2, []string{"fd88::2@tcp"}},
		{"wildcard", "DE C0 AA 15 0C FF FF FF FF*16 DE C0 AA 15 " + fd2, []string{"fd88::2@tcp"}},
		{"cut entry", "DE C0 AA 15 " + fd2 + " DE C0 AA 15 0C 02 00 00 00*12", []string{"fd88::2@tcp"}},
		{"cut head", "DE C0 AA 15 " + fd2 + " DE C0 AA 15", []string{"fd88::2@tcp"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, rest, err := ParsePingInfo(append(largeInfo(t, FeatureLargeAddr, tt.entries), 0xEE))
			if err != nil || !bytes.Equal(rest, []byte{0xEE}) {
				t.Fatalf("rest % x, %v", rest, err)
			}
			if len(p.NIs) != len(tt.want) {
				t.Fatalf("NIs %v, want %v", p.NIs, tt.want)
			}
			for i, want := range tt.want {
				if want != "" && p.NIs[i] != up(want) {
					t.Errorf("NI %d is %v, want %s", i, p.NIs[i], want)
				}
				if want == "" && p.NIs[i].NID.String() != "a000001:7000000/5@<17:0>" {
					t.Errorf("NI %d is %v", i, p.NIs[i])
				}
			}
		})
	}
}

// largeInfo returns an info of 0@lo and the given large entries.
func largeInfo(t *testing.T, f Features, entries string) []byte {
	tail := unhex(t, entries)
	size := byte(32 + len(tail))
	b := unhex(t, "67 6E 69 70 00*4 39 30 00 00 01 00 00 00 00 00 00 00 00 00 09 00 01 00 00 00 00*4")
	b[4] = byte(f | FeatureNIStatus)
	b[28], b[29] = size, byte((32+len(tail))>>8)
	return append(b, tail...)
}

// TestPingPrimaryLarge checks the position of the primary NID, also when the entry that
// should hold it is missing.
func TestPingPrimaryLarge(t *testing.T) {
	b := largeInfo(t, FeatureLargeAddr|FeaturePrimaryLarge, "")
	if p, _, err := ParsePingInfo(b); err != nil || len(p.NIs) != 0 {
		t.Errorf("without a large entry: %v, %v", p.NIs, err)
	}
	b, err := PingInfo{Features: FeatureNIStatus, NIs: []NIStatus{
		up("fd88::1@tcp"), up("10.0.0.1@tcp"), up("fd88::2@tcp"), up("10.0.0.2@tcp"),
	}}.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := ParsePingInfo(b)
	if err != nil {
		t.Fatal(err)
	}
	want := []NIStatus{up("fd88::1@tcp"), up("10.0.0.1@tcp"), up("10.0.0.2@tcp"), up("fd88::2@tcp")}
	if diff := cmp.Diff(want, p.NIs, equal); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPingMetadata(t *testing.T) {
	const metadata = "01 00 00 00 01 00 00 0A 00 00 12 00 AA*32"
	b := largeInfo(t, FeatureMetadata, metadata)
	if p, rest, err := ParsePingInfo(b); err != nil || len(p.NIs) != 0 || len(rest) != 44 {
		t.Errorf("metadata behind the entries: %v, rest %d, %v", p.NIs, len(rest), err)
	}
	b = largeInfo(t, FeatureMetadata|FeatureLargeAddr, metadata)
	if p, rest, err := ParsePingInfo(b); err != nil || len(p.NIs) != 0 || len(rest) != 0 {
		t.Errorf("metadata in place of large entries: %v, rest %d, %v", p.NIs, len(rest), err)
	}
}

// TestPingManyLarge checks that the number of large entries is limited too.
func TestPingManyLarge(t *testing.T) {
	for _, tt := range []struct {
		n    int
		want error
	}{{maxPingNIs, nil}, {maxPingNIs + 1, ErrNICount}} {
		b := largeInfo(t, FeatureLargeAddr, "")
		b = append(b, bytes.Repeat(unhex(t, "DE C0 AA 15 00 02 00 00 0A 00 00 01"), tt.n)...)
		order(false).PutUint32(b[28:], uint32(len(b)))
		if p, _, err := ParsePingInfo(b); !errors.Is(err, tt.want) || (err == nil && len(p.NIs) != tt.n) {
			t.Errorf("%d large entries: %d NIs, %v, want %v", tt.n, len(p.NIs), err, tt.want)
		}
	}
}

func TestPingSkipsWildcard(t *testing.T) {
	b, err := PingInfo{Features: FeatureNIStatus, NIs: []NIStatus{up("10.0.0.1@tcp"), up("10.0.0.2@tcp")}}.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[32:], unhex(t, "FF*8"))
	p, _, err := ParsePingInfo(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]NIStatus{up("10.0.0.2@tcp")}, p.NIs, equal); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func FuzzParsePingInfo(f *testing.F) {
	for _, name := range []string{"reply", "push", "reply-three-nis", "push-two-nis", "reply-no-discovery"} {
		f.Add(readHex(f, name)[HeaderSize:])
	}
	for _, name := range []string{"large-reply", "large-push"} {
		f.Add(readHex(f, name)[LargeHeaderSize:])
	}
	f.Add(unhex(f, "70 69 6E 67 00 00 00 3E 00 00 30 39 00 00 00 02 00 09 00 00 00 00 00 00 00 00 00 03 00 00 00 48 "+
		"00 02 00 00 0A 00 00 02 15 AA C0 DE 00*4 15 AA C0 DE 0C 02 00 01 20 01 0D B8 00*11 02"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, rest, err := ParsePingInfo(b)
		if len(p.NIs) > maxPingNIs || len(p.NIs) > len(b)/largeEntryHead {
			t.Fatalf("%d NIs in %d bytes", len(p.NIs), len(b))
		}
		short := new(TruncatedError)
		if errors.As(err, &short) && (short.Size <= len(b) || short.Size > MaxPayload) {
			t.Fatalf("%d bytes are said to be a part of %d", len(b), short.Size)
		}
		if err != nil {
			if len(rest) != len(b) {
				t.Fatalf("%d of %d bytes left after %v", len(rest), len(b), err)
			}
			return
		}
		again, err := p.AppendBinary(nil)
		if err != nil || len(again) != p.Size() {
			t.Fatalf("%d bytes, Size %d, %v", len(again), p.Size(), err)
		}
		checkAgain(t, p, again)
	})
}

// checkAgain parses the encoding of an info. The order may have changed if small NIDs stood
// among the large entries; feature bits that do not fit the NIs are gone.
func checkAgain(t *testing.T, p PingInfo, again []byte) {
	t.Helper()
	back, rest, err := ParsePingInfo(again)
	if err != nil || len(rest) != 0 {
		t.Fatalf("parsing again: rest %d, %v", len(rest), err)
	}
	derived := FeatureLargeAddr | FeaturePrimaryLarge | FeatureMetadata
	if back.Features&^derived != p.Features&^derived || back.PID != p.PID ||
		back.Sequence != p.Sequence || back.BigEndian != p.BigEndian {
		t.Fatalf("%v comes back as %v", p, back)
	}
	counts := make(map[NIStatus]int)
	for _, ni := range p.NIs {
		counts[ni]++
	}
	for _, ni := range back.NIs {
		counts[ni]--
	}
	for ni, n := range counts {
		if n != 0 {
			t.Fatalf("%v: %d lost", ni, n)
		}
	}
	if len(p.NIs) > 0 && p.NIs[0].NID.Is4() == back.NIs[0].NID.Is4() && p.NIs[0] != back.NIs[0] {
		t.Fatalf("primary %v comes back as %v", p.NIs[0], back.NIs[0])
	}
	if twice, err := back.AppendBinary(nil); err != nil || !bytes.Equal(twice, again) {
		t.Fatalf("% x written as % x, %v", again, twice, err)
	}
}
