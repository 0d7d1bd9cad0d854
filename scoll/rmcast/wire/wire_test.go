package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/nid"
)

var sampleDatagram = Datagram{
	Group: 7, Flags: FlagBatch, Version: Version{0x1122334455667788, 2}, Origin: 3, Length: 5000, Seq: 0x0A0B, Index: 1, Count: 2, Size: 4,
	Stable: 0x0A0A, First: 1,
}

var sampleEntry = Entry{Kind: Pending, Flags: FlagNeedless, Repairs: 2, Origin: 3, Version: Version{1, 2}, First: 9, Count: 4, Member: 5, Stable: 8}

func sampleOrder() Order {
	return Order{
		Kind: OrderList, Flags: OrderTree, Group: 7, You: 2, Epoch: 3, Version: Version{3, 4}, Usable: Version{3, 3}, Oldest: Version{2, 9}, Incarnation: 12,
		MTU: 4096, Capacity: 100_000, Window: 128, Next: 6, Voters: 5, Of: 8, Silent: 1,
		Members: []Member{{ID{testNID(0), 11}, 1}, {ID{testNID(1), 12}, 2}}, Departed: []ID{{testNID(2), 13}},
	}
}

func testNID(i uint32) nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 0), i+1) }

// unspaced parses bytes in hexadecimal. Spaces are ignored, and so is what follows a "|" in a line: the names
// of the fields.
func unspaced(t *testing.T, text string) []byte {
	t.Helper()
	var words []string
	for line := range strings.Lines(text) {
		hexes, _, _ := strings.Cut(line, "|")
		words = append(words, strings.ReplaceAll(strings.TrimSpace(hexes), " ", ""))
	}
	b, err := hex.DecodeString(strings.Join(words, ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestWireDatagram checks the bytes of a datagram, field by field.
func TestWireDatagram(t *testing.T) {
	want := unspaced(t, `52 4D 43 44 | magic
		02 00 48 00             | version, size
		07 00 00 00 04 00 00 00 | group, flags
		88 77 66 55 44 33 22 11 | epoch
		02 00 00 00 00 00 00 00 | counter
		03 00 00 00 88 13 00 00 | origin, length
		0B 0A 00 00 00 00 00 00 | seq
		01 00 02 00 04 00 00 00 | index, count, size
		0A 0A 00 00 00 00 00 00 | stable
		01 00 00 00 00 00 00 00 | first
		64 61 74 61             | fragment`)
	got := append(sampleDatagram.AppendTo(nil), "data"...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	d, fragment, err := ParseDatagram(got)
	if err != nil || d != sampleDatagram || string(fragment) != "data" {
		t.Errorf("%+v, %q, %v", d, fragment, err)
	}
	prefixes(t, got, func(b []byte) error { _, _, err := ParseDatagram(b); return err })
}

// samplePacked is a datagram with three messages, the second of which is empty.
func samplePacked() []byte {
	d := sampleDatagram
	d.Flags, d.Index, d.Count, d.Length, d.Size = FlagPacked, 0, 3, 13, 13
	b := d.AppendTo(nil)
	for _, message := range []string{"first", "", "3d"} {
		b = AppendMessage(b, []byte(message))
	}
	return b
}

// TestWirePacked: the bytes of a datagram with several messages. A payload that is not exactly
// Count messages is refused as a whole.
func TestWirePacked(t *testing.T) {
	b := samplePacked()
	if diff := cmp.Diff(unspaced(t, `05 00 66 69 72 73 74 | length, message
		00 00                 | length
		02 00 33 64           | length, message`), b[HeaderSize:]); diff != "" {
		t.Fatal(diff)
	}
	d, payload, err := ParseDatagram(b)
	if err != nil || d.Flags != FlagPacked || d.Count != 3 {
		t.Fatalf("%+v, %v", d, err)
	}
	for _, want := range []string{"first", "", "3d"} {
		var message []byte
		if message, payload, err = ParseMessage(payload); err != nil || string(message) != want {
			t.Errorf("%q, want %q, %v", message, want, err)
		}
	}
	prefixes(t, b, func(b []byte) error { _, _, err := ParseDatagram(b); return err })
	for name, change := range map[string]func(d *Datagram, b []byte){
		"one message":            func(d *Datagram, _ []byte) { d.Count = 1 },
		"no message":             func(d *Datagram, _ []byte) { d.Count = 0 },
		"fewer messages":         func(d *Datagram, _ []byte) { d.Count = 2 },
		"more messages":          func(d *Datagram, _ []byte) { d.Count = 4 },
		"a fragment":             func(d *Datagram, _ []byte) { d.Index = 1 },
		"another length":         func(d *Datagram, _ []byte) { d.Length++ },
		"a message too long":     func(_ *Datagram, b []byte) { b[9] = 3 },
		"an absurdly long one":   func(_ *Datagram, b []byte) { b[1] = 255 },
		"an absurd last number":  func(d *Datagram, _ []byte) { d.Seq = MaxSeq - 2 },
		"an absurd first number": func(d *Datagram, _ []byte) { d.Seq = 1<<64 - 2 },
	} {
		d, payload, _ := ParseDatagram(b)
		payload = bytes.Clone(payload)
		change(&d, payload)
		if _, _, err := ParseDatagram(append(d.AppendTo(nil), payload...)); !errors.Is(err, ErrHeader) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWireControl checks the bytes of a control message with one entry.
func TestWireControl(t *testing.T) {
	want := unspaced(t, `52 4D 43 43 | magic
		02 00 01 00             | version, entries
		07 00 00 00 00 00 00 00 | group, reserved
		03 00 00 00 00 00 00 00 04 00 00 00 00 00 00 00 | known
		02 02 02 00 03 00 00 00 | kind, flags, repairs, origin
		01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 | version
		09 00 00 00 00 00 00 00 | first
		04 00 00 00 05 00 00 00 | count, who
		08 00 00 00 00 00 00 00 | stable`)
	got := AppendControl(nil, 7, Version{3, 4}, []Entry{sampleEntry})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	group, known, list, err := ParseControl(got)
	if err != nil || group != 7 || known != (Version{3, 4}) {
		t.Fatal(group, known, err)
	}
	if e, rest, err := ParseEntry(list); err != nil || e != sampleEntry || len(rest) != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	prefixes(t, got, func(b []byte) error { _, _, _, err := ParseControl(b); return err })
}

// TestWireOrder: an encoded list parses to the same list.
func TestWireOrder(t *testing.T) {
	o := sampleOrder()
	b := o.AppendTo(nil)
	if len(b) != OrderSize+2*MemberSize+DepartedSize {
		t.Fatal(len(b))
	}
	want := unspaced(t, `52 4D 43 4D | magic
		02 00 04 08             | version, kind, flags
		07 00 00 00 02 00 00 00 | group, you
		03 00 00 00 00 00 00 00 | epoch
		03 00 00 00 00 00 00 00 04 00 00 00 00 00 00 00 | version
		03 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 | usable
		02 00 00 00 00 00 00 00 09 00 00 00 00 00 00 00 | oldest
		0C 00 00 00 00 00 00 00 | life
		00 10 00 00 A0 86 01 00 | MTU, capacity
		80 00 00 00 06 00 00 00 | window, next
		02 00 00 00 01 00 00 00 | members, departed
		05 00 00 00 08 00 01 00 | voters, of, silent`)
	if diff := cmp.Diff(want, b[:OrderSize]); diff != "" {
		t.Fatal(diff)
	}
	got, err := ParseOrder(b)
	if err != nil || !reflect.DeepEqual(got, o) {
		t.Errorf("%+v, %v", got, err)
	}
	prefixes(t, b, func(b []byte) error { _, err := ParseOrder(b); return err })
}

// prefixes checks that every proper prefix of a message is too short.
func prefixes(t *testing.T, b []byte, parse func([]byte) error) {
	t.Helper()
	for i := range b {
		if err := parse(b[:i]); !errors.Is(err, ErrShort) {
			t.Fatalf("%d of %d bytes: %v", i, len(b), err)
		}
	}
	for _, tt := range []struct {
		at   int
		want error
	}{{0, ErrMagic}, {4, ErrVersion}} {
		bad := bytes.Clone(b)
		bad[tt.at] ^= 0xFF
		if err := parse(bad); !errors.Is(err, tt.want) {
			t.Errorf("byte %d: %v, want %v", tt.at, err, tt.want)
		}
	}
}

// TestWireContradictions: messages that contradict themselves are refused.
func TestWireContradictions(t *testing.T) {
	for name, change := range map[string]func(d *Datagram){
		"unknown flag":           func(d *Datagram) { d.Flags |= 1 << 9 },
		"no version":             func(d *Datagram) { d.Version = Version{Epoch: 3} },
		"index beyond the count": func(d *Datagram) { d.Index = 2 },
		"before the first":       func(d *Datagram) { d.First, d.Stable, d.Seq = 3, 3, 3 },
		"first beyond stable":    func(d *Datagram) { d.First = d.Stable + 1 },
		"stable beyond seq":      func(d *Datagram) { d.Stable = d.Seq + 1 },
		"fragment too long":      func(d *Datagram) { d.Length = 3 },
		"heartbeat with payload": func(d *Datagram) { d.Index, d.Count = 0, 0 },
		"absurd sequence number": func(d *Datagram) { d.Seq = MaxSeq + 1 },
	} {
		d := sampleDatagram
		change(&d)
		if _, _, err := ParseDatagram(append(d.AppendTo(nil), "data"...)); !errors.Is(err, ErrHeader) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(e *Entry){
		"no kind":      func(e *Entry) { e.Kind = 0 },
		"unknown kind": func(e *Entry) { e.Kind = LastEntry + 1 },
		"no version":   func(e *Entry) { e.Version.Counter = 0 },
		"empty range":  func(e *Entry) { e.Count = 0 },
		"absurd first": func(e *Entry) { e.First = MaxSeq + 1 },
	} {
		e := sampleEntry
		change(&e)
		if _, _, err := ParseEntry(e.AppendTo(nil)); !errors.Is(err, ErrHeader) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(o *Order){
		"no kind":            func(o *Order) { o.Kind = 0 },
		"unknown kind":       func(o *Order) { o.Kind = lastOrder + 1 },
		"unknown flag":       func(o *Order) { o.Flags = 1 << 7 },
		"number twice":       func(o *Order) { o.Members[1].Number = 1 },
		"numbers in mess":    func(o *Order) { o.Members[0].Number = 3 },
		"member without NID": func(o *Order) { o.Members[0].NID = ID{}.NID },
	} {
		o := sampleOrder()
		change(&o)
		if _, err := ParseOrder(o.AppendTo(nil)); !errors.Is(err, ErrHeader) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzWire: every message that parses has the same form when it is appended again.
func FuzzWire(f *testing.F) {
	f.Add(append(sampleDatagram.AppendTo(nil), "data"...))
	f.Add(samplePacked())
	f.Add(AppendControl(nil, 7, Version{3, 4}, []Entry{sampleEntry, sampleEntry}))
	o := sampleOrder()
	f.Add(o.AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if d, fragment, err := ParseDatagram(b); err == nil {
			got := append(d.AppendTo(nil), fragment...)
			if d.Flags&FlagControl != 0 {
				got = append(got, d.ControlIn(b)...)
			}
			if !bytes.Equal(got, b) {
				t.Errorf("datagram %x, was %x", got, b)
			}
		}
		if group, known, list, err := ParseControl(b); err == nil {
			var all []Entry
			for len(list) > 0 {
				var e Entry
				if e, list, err = ParseEntry(list); err == nil {
					all = append(all, e)
				}
			}
			again := AppendControl(nil, group, known, all)
			if _, _, _, err := ParseControl(again); err != nil && len(all) > 0 {
				t.Errorf("%x: %v", again, err)
			}
		}
		if o, err := ParseOrder(b); err == nil {
			got, err := ParseOrder(o.AppendTo(nil))
			if err != nil || !reflect.DeepEqual(got, o) {
				t.Errorf("%+v, was %+v, %v", got, o, err)
			}
		}
	})
}
