package wire

import (
	"fmt"
	"strings"
	"testing"
)

// TestDispatch: messages of the hierarchy are encoded and parsed; a message that is cut short
// is refused.
func TestDispatch(t *testing.T) {
	d := &Dispatch{
		Kind: Register, Flags: Whole, From: testID(1), Version: v(3, 4), Zone: "z", Activation: 5, Registration: 6, Hash: 7,
		Known: 8, Number: 9, Size: 10, Reporters: 11, Joined: []Named{{testID(2), v(1, 1)}}, Left: []Named{{testID(3), v(2, 2)}, {testID(4), v(2, 3)}},
	}
	b := d.appendTo(nil)
	if n := new(Codec).DispatchSize(d); len(b) != n {
		t.Errorf("%d bytes, said %d", len(b), n)
	}
	got, err := parseDispatch(b)
	if err != nil || fmt.Sprint(*got) != fmt.Sprint(*d) {
		t.Errorf("%v\n%+v\n%+v", err, got, d)
	}
	for n := range b {
		if _, err := parseDispatch(b[:n]); err == nil {
			t.Errorf("%d of %d bytes are a message, too", n, len(b))
		}
	}
}

// TestZoneName: a message is refused if the name of its zone is too long for the key of the zone's attribute
// in the census.
func TestZoneName(t *testing.T) {
	d := &Dispatch{Kind: Query, From: testID(1), Version: v(1, 1), Zone: strings.Repeat("z", MaxZone+1)}
	if _, _, err := ParseDispatch(d.appendTo(nil)); err == nil {
		t.Error("a zone's name that can be no key is understood")
	}
}

// FuzzDispatch: no bytes cause a panic, and a message that can be parsed is encoded to the same
// bytes.
func FuzzDispatch(f *testing.F) {
	d := &Dispatch{Kind: Alarm, From: testID(1), Version: v(3, 4), Zone: "z", About: testID(2), AboutVersion: v(1, 1)}
	f.Add(d.appendTo(nil))
	d = &Dispatch{Kind: Register, From: testID(1), Version: v(3, 4), Zone: "z", Activation: 1, Joined: []Named{{testID(2), v(1, 1)}}}
	f.Add(d.appendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := parseDispatch(b)
		if err == nil && d.Flags&DispatchFlags(Signed) == 0 {
			again := d.appendTo(nil)
			again[6] |= b[6] & byte(Signed)
			if string(again) != string(b) {
				t.Errorf("%x\nis written as\n%x", b, again)
			}
		}
	})
}
