package nid

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"testing"
)

// extendedFrom returns the NID whose extended form begins with these bytes; zeros follow.
func extendedFrom(t testing.TB, wire ...byte) NID {
	t.Helper()
	n, _, err := ParseExtended(append(wire, make([]byte, ExtendedSize-len(wire))...))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// oddNIDs are NIDs that a peer can put into a message but no administrator would write.
func oddNIDs(t testing.TB) []NID {
	t.Helper()
	odd := []NID{
		{},
		Any(), Lo0(),
		From4(1),                   // network type 0 does not exist
		From4(0x00000005_00000000), // network type 0 does not exist, with a number
		From4(0x00090000_00000001), // lo with an address other than 0
		From4(0x00090001_00000000), // lo with a network number other than 0
		From4(0x00020000_00000000), From4(0x0002FFFF_FFFFFFFF),
		From4(0x00FE0007_FFFFFFFF), From4(0x00110000_C0A80101), From4(0x00130000_00000000),
	}
	for _, text := range []string{"::@tcp", "::1@tcp", "::ffff:10.0.0.1@tcp9", "::ffff:0.0.0.0@tcp", "fe80::1@tcp", "ff02::1@tcp65535", "0x0@gm", "10.0.0.1@tcp"} {
		odd = append(odd, MustParse(text))
	}
	address := []byte{0, 1, 2, 0, 0, 5, 6, 7, 8, 9, 10, 11, 0, 13, 14, 0}
	for _, typ := range []byte{0, byte(TCP), byte(GM), byte(O2IB), byte(Lo), byte(GNI), byte(Tofu), byte(EFA), byte(BXI3), 20, 254} {
		for size := range byte(maxSize + 1) {
			odd = append(odd,
				extendedFrom(t, append([]byte{size, typ, 0, 0}, address[:4+size]...)...),
				extendedFrom(t, size, typ, 0xFF, 0xFE),
				extendedFrom(t, append([]byte{size, typ, 0, 1}, bytes.Repeat([]byte{0xFF}, 4+int(size))...)...))
		}
	}
	return odd
}

// TestTextRoundTrip: each NID, network and process id has a text of its own, which is parsed
// to the same value. So everything that a peer can put into a message can be shown.
func TestTextRoundTrip(t *testing.T) {
	seen := make(map[string]NID)
	for _, n := range oddNIDs(t) {
		if other, ok := seen[n.String()]; ok && other != n {
			t.Errorf("%#v and %#v are both %q", n, other, n)
		}
		seen[n.String()] = n
		checkRoundTrip(t, n)
	}
	for _, pid := range []PID{0, 1, LustrePID, UserPID, UserPID | 51234, PIDAny, PIDAny - 1, UserPID - 1} {
		checkProcessID(t, ProcessID{MustParse("fd88::1@tcp"), pid})
		checkProcessID(t, ProcessID{NID{}, pid})
		checkProcessID(t, ProcessID{extendedFrom(t, 3, 17, 0, 5, 1, 2, 3, 4, 5), pid})
	}
	for typ := range 256 {
		for _, num := range []uint16{0, 1, 65535} {
			net := MakeNet(NetType(typ), num)
			if back, err := ParseNet(net.String()); err != nil || back != net {
				t.Errorf("ParseNet(%q) = %v, %v", net, back, err)
			}
			checkJSON(t, net)
		}
	}
}

func checkRoundTrip(t testing.TB, n NID) {
	t.Helper()
	if back, err := Parse(n.String()); err != nil || back != n {
		t.Errorf("% x prints as %q, which parses to %v, %v", n.AppendExtended(nil), n, back, err)
	}
	if len(n.String()) >= 64 {
		t.Errorf("text of %d bytes; LNet has room for 63: %q", len(n.String()), n)
	}
	checkJSON(t, n)
	if back, err := ParseNet(n.Net().String()); err != nil || back != n.Net() {
		t.Errorf("ParseNet(%q) = %v, %v", n.Net(), back, err)
	}
	checkJSON(t, n.Net())
	checkProcessID(t, ProcessID{n, LustrePID})
}

func checkProcessID(t testing.TB, id ProcessID) {
	t.Helper()
	if back, err := ParseProcessID(id.String()); err != nil || back != id {
		t.Errorf("%q parses to %v, %v", id, back, err)
	}
	checkJSON(t, id)
}

// checkJSON passes v through JSON, as a value and as the key of an object.
func checkJSON[T comparable](t testing.TB, v T) {
	t.Helper()
	type doc struct {
		Value T
		Keys  map[T]int
	}
	text, err := json.Marshal(doc{v, map[T]int{v: 1}})
	if err != nil {
		t.Errorf("%v: %v", v, err)
		return
	}
	var back doc
	if err := json.Unmarshal(text, &back); err != nil || back.Value != v || back.Keys[v] != 1 {
		t.Errorf("%s comes back as %v, %v", text, back, err)
	}
}

// FuzzTextRoundTrip uses any 20 bytes as an extended NID, the first 8 as a nid4, and the last
// 4 as a PID.
func FuzzTextRoundTrip(f *testing.F) {
	for _, n := range oddNIDs(f) {
		f.Add(n.AppendExtended(nil))
	}
	for _, seed := range recordedNIDs {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < ExtendedSize {
			return
		}
		if n, _, err := ParseExtended(b); err == nil {
			checkRoundTrip(t, n)
			checkProcessID(t, ProcessID{n, PID(binary.LittleEndian.Uint32(b[16:]))})
		}
		checkRoundTrip(t, From4(binary.LittleEndian.Uint64(b)))
		checkRoundTrip(t, From4(binary.BigEndian.Uint64(b)))
	})
}

// recordedNIDs are NIDs from recorded messages of kernels: the source in a HELLO of version 3
// with the bytes behind it, in a HELLO of version 4, and in a request to connect over RDMA.
var recordedNIDs = [][]byte{
	{0x0A, 0x00, 0x4D, 0x0A, 0, 0, 2, 0, 0x0B, 0x00, 0x4D, 0x0A, 0, 0, 2, 0, 0x39, 0x30, 0, 0},
	{12, 2, 0, 0, 0xFD, 0x88, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2},
	{0x02, 0x00, 0x58, 0x0A, 0, 0, 5, 0, 0x22, 0x11, 0, 0, 0, 0, 0, 0, 0x01, 0x00, 0x58, 0x0A},
}
