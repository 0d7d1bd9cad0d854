package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

// goldenSpoken is the header of a reply that a module sends in place of its service.
var goldenSpoken = ReplyHeader{RootIncarnation: 0x2122, Sequence: 0x1112, Flags: ReplyLast, Status: EIO, Trailer: 1, Carried: 0x1314}

// TestSpokenHeader checks the bytes of the header of a reply in which the module answers in place of
// the service. A header with carried answers is refused if its other fields do not fit such a reply.
func TestSpokenHeader(t *testing.T) {
	got := goldenSpoken.AppendTo(nil)
	if status, carried := hex.EncodeToString(got[28:32]), hex.EncodeToString(got[52:]); status != "05000000" || carried != "14130000" {
		t.Errorf("status %s, carried %s", status, carried)
	}
	if h, _, err := ParseReplyHeader(got); err != nil || h != goldenSpoken || !h.Speaks() {
		t.Errorf("parsed %+v, %v", h, err)
	}
	for name, change := range map[string]func(*ReplyHeader){
		"without the last word": func(h *ReplyHeader) { h.Flags = 0 },
		"with a payload":        func(h *ReplyHeader) { h.PayloadSize = 1 },
		"too much carried":      func(h *ReplyHeader) { h.Carried = MaxCarry + 1 },
		"carried by a service":  func(h *ReplyHeader) { h.Status = OK },
		"carried by an error":   func(h *ReplyHeader) { h.Flags |= ReplyCollective },
	} {
		h := goldenSpoken
		change(&h)
		if _, _, err := ParseReplyHeader(h.AppendTo(nil)); !errors.Is(err, ErrHeader) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCarried checks the bytes of an answer that a reply of another member carries.
func TestCarried(t *testing.T) {
	c := Carried{0x01020304, 5, true, 3}
	got := append(c.AppendTo(nil), 7, 8, 9, 10)
	if hex.EncodeToString(got[:CarriedHeaderSize]) != "04030201"+"05"+"01"+"0000"+"03000000" {
		t.Fatalf("%x", got)
	}
	if back, payload, rest, err := ParseCarried(got); back != c || !bytes.Equal(payload, []byte{7, 8, 9}) || len(rest) != 1 || err != nil {
		t.Errorf("parsed %+v, payload %v, rest %v, %v", back, payload, rest, err)
	}
	for i := range CarriedHeaderSize + 3 {
		if _, _, _, err := ParseCarried(got[:i]); !errors.Is(err, ErrShort) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
	for at, value := range map[int]byte{4: MaxParts, 5: 2} {
		bad := bytes.Clone(got)
		bad[at] = value
		if _, _, _, err := ParseCarried(bad); !errors.Is(err, ErrHeader) {
			t.Errorf("byte %d is %d: %v", at, value, err)
		}
	}
}

func FuzzCarried(f *testing.F) {
	f.Add(append(Carried{3, 1, true, 2}.AppendTo(nil), 1, 2, 3))
	f.Add(Carried{3, 0, false, 1 << 31}.AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, payload, rest, err := ParseCarried(b)
		if err != nil {
			return
		}
		if len(payload) != int(c.Size) || CarriedHeaderSize+len(payload)+len(rest) != len(b) {
			t.Errorf("%+v with %d bytes of %d, %d behind it", c, len(payload), len(b), len(rest))
		}
		if again, _, _, err := ParseCarried(append(c.AppendTo(nil), payload...)); err != nil || again != c {
			t.Errorf("again %+v, %v", again, err)
		}
	})
}
