package linkwatch

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

// TestRequests checks the bytes of requests, as a little-endian machine sends them.
func TestRequests(t *testing.T) {
	for _, c := range []struct {
		got  []byte
		want string
	}{
		{appendDump(nil, typeGetLink, 7), "20000000" + "1200" + "0103" + "07000000" + "00000000" + "00000000000000000000000000000000"},
		{appendDump(nil, typeGetAddr, 8), "20000000" + "1600" + "0103" + "08000000" + "00000000" + "00000000000000000000000000000000"},
		{appendLink(nil, 3, 9), "20000000" + "1200" + "0100" + "09000000" + "00000000" + "00000000" + "03000000" + "0000000000000000"},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestMalformed: a message that is cut off at any byte is refused, and so are wrong lengths.
func TestMalformed(t *testing.T) {
	whole := reads(t)[0].bytes
	whole = whole[:int(whole[0])|int(whole[1])<<8]
	count := func(b []byte) (n int, err error) {
		err = parse(b, func(message) { n++ })
		return n, err
	}
	if n, err := count(whole); n != 1 || err != nil {
		t.Fatalf("%d messages, %v", n, err)
	}
	for size := 1; size < len(whole); size++ {
		if n, err := count(whole[:size]); n != 0 || !errors.Is(err, errMessage) {
			t.Errorf("cut at %d: %d messages, %v", size, n, err)
		}
	}
	for name, c := range map[string]struct {
		off   int
		value byte
	}{"shorter than its header": {0, 15}, "shorter than its body": {0, 20}, "attribute shorter than its header": {32, 3}, "attribute of 64 KiB": {33, 255}} {
		b := bytes.Clone(whole)
		if c.off == 0 {
			b[1] = 0
		}
		b[c.off] = c.value
		if n, err := count(b); n != 0 || !errors.Is(err, errMessage) {
			t.Errorf("%s: %d messages, %v", name, n, err)
		}
	}
}

// FuzzReceive: whatever bytes come, the tracker neither panics nor keeps more than they
// name, and its requests stay bounded.
func FuzzReceive(f *testing.F) {
	for _, r := range reads(f) {
		f.Add(r.bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tr := newTracker()
		tr.requests(0, nil)
		tr.receive(b)
		most := len(b) / headerSize
		if len(tr.links) > most || len(tr.addrs) > most {
			t.Errorf("%d links and %d addresses of %d bytes", len(tr.links), len(tr.addrs), len(b))
		}
		for a := range tr.addrs {
			if err := tr.state(a); err != nil {
				_ = err.Error()
			}
		}
		for _, l := range tr.links {
			if len(l.name) > maxName {
				t.Errorf("name %q", l.name)
			}
		}
		if got, _ := tr.requests(dumpTimeout, nil); len(got) > (len(tr.homes)+2)*(headerSize+linkSize) {
			t.Errorf("requests of %d bytes for %d addresses", len(got), len(tr.homes))
		}
	})
}
