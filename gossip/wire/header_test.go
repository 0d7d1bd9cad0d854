package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// goldenHeader has a value in every field.
var goldenHeader = Header{
	Flags: FlagParams | FlagStaged, N: 0x0A0B, Clock: 0x0102030405060708, Interval: 250 * time.Millisecond,
	Digest: Digest{0: 0xD1, 19: 0xD2}, Staged: Digest{0: 0x51, 19: 0x52},
}

const goldenBytes = "0100" + // version
	"0300" + // flags
	"0b0a0000" + // N, the number of participants
	"0807060504030201" + // clock
	"fa000000" + // interval, ms
	"d1000000000000000000000000000000000000d2" + // digest
	"51000000000000000000000000000000000000" + "52" // field staged

// TestHeader: the bytes of a header are those of GO-A14, GO-57 and GO-58.
func TestHeader(t *testing.T) {
	spec.Covers(t, "GO-57", "GO-58", "GO-A14")
	got := goldenHeader.AppendTo(nil)
	if hex.EncodeToString(got) != goldenBytes {
		t.Fatalf("got %x\nwant %s", got, goldenBytes)
	}
	h, rest, err := ParseHeader(append(got, 1, 2, 3))
	if err != nil || h != goldenHeader || !bytes.Equal(rest, []byte{1, 2, 3}) {
		t.Errorf("parsed %+v, rest %v, %v", h, rest, err)
	}
	for i := range got {
		if _, _, err := ParseHeader(got[:i]); !errors.Is(err, ErrShort) {
			t.Errorf("%d bytes: %v, want ErrShort", i, err)
		}
	}
	for name, c := range map[string]struct {
		at    int
		value byte
		want  error
	}{
		"version": {0, 2, ErrVersion}, "unknown flag": {2, 0x20, errFlags}, "two forms": {2, 0x0C, errFlags},
	} {
		bad := bytes.Clone(got)
		bad[c.at] = c.value
		if _, _, err := ParseHeader(bad); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestEntries checks which replies about 10 participants are valid.
func TestEntries(t *testing.T) {
	type pairs map[int]byte
	for _, c := range []struct {
		name  string
		flags Flags
		body  []byte
		want  pairs // the entries expected; nil: ErrBody
	}{
		{"nothing", 0, nil, pairs{}},
		{"bitmap", FlagBitmap, []byte{0x81, 0x02, 5, 6, 7}, pairs{0: 5, 7: 6, 9: 7}},
		{"empty bitmap", FlagBitmap, []byte{0, 0}, pairs{}},
		{"pairs", FlagPairs, []byte{9, 0, 0, 0, 7, 0, 0, 0, 0, 5}, pairs{9: 7, 0: 5}},
		{"no pairs", FlagPairs, nil, pairs{}},
		{"a body without a form", 0, []byte{1}, nil},
		{"half a bitmap", FlagBitmap, []byte{0x81}, nil},
		{"ages missing", FlagBitmap, []byte{0x81, 0x02, 5, 6}, nil},
		{"ages too many", FlagBitmap, []byte{0x81, 0, 5, 6, 7}, nil},
		{"a bit for nobody", FlagBitmap, []byte{0x80, 0x04, 5, 6}, nil},
		{"half a pair", FlagPairs, []byte{9, 0, 0, 0, 7, 0}, nil},
		{"a pair for nobody", FlagPairs, []byte{10, 0, 0, 0, 7}, nil},
		{"too many pairs", FlagPairs, make([]byte, 11*PairSize), nil},
	} {
		e, err := ParseEntries(c.flags, c.body, 10)
		if c.want == nil {
			if !errors.Is(err, ErrBody) {
				t.Errorf("%s: %v, want ErrBody", c.name, err)
			}
			continue
		}
		got := pairs{}
		e.Each(func(i int, age byte) { got[i] = age })
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
		for i, age := range c.want {
			if got[i] != age {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
}

// recorded returns messages of a cluster of twelve from testdata/messages.txt, in which each
// line has the kind and the bytes in hexadecimal.
func recorded(t testing.TB) (replies []bool, messages [][]byte) {
	t.Helper()
	text, err := os.ReadFile("testdata/messages.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		kind, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
		data, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		replies, messages = append(replies, kind == "reply"), append(messages, data)
	}
	return replies, messages
}

// TestRecorded: recorded messages of real agents can be parsed, and encoding their entries
// gives the same bytes.
func TestRecorded(t *testing.T) {
	replies, messages := recorded(t)
	for i, data := range messages {
		bits := uint64(PingBits)
		if replies[i] {
			bits = ReplyBits
		}
		m, err := ParseMessage(bits, data)
		again := m.Header.AppendTo(nil)
		if !m.Reply {
			for _, e := range m.Entries {
				again = append(again, e.Age)
			}
		} else {
			again = append(again, data[len(again):len(data)-len(m.Entries)]...)
			for _, e := range m.Entries {
				again = append(again, e.Age)
			}
		}
		if err != nil || m.N != 12 || !bytes.Equal(again, data) {
			t.Errorf("%x: %+v, %v", data, m, err)
		}
	}
	if len(messages) < 20 {
		t.Errorf("%d messages", len(messages))
	}
}

// FuzzMessage: a parsed message has no more entries than bytes, and each valid message has only
// one encoding.
func FuzzMessage(f *testing.F) {
	replies, messages := recorded(f)
	for i, data := range messages {
		f.Add(!replies[i], data)
	}
	f.Add(true, goldenHeader.AppendTo(nil))
	f.Fuzz(func(t *testing.T, ping bool, data []byte) {
		bits := uint64(ReplyBits)
		if ping {
			bits = PingBits
		}
		header, rest, err := ParseHeader(data)
		if err == nil && !bytes.Equal(append(header.AppendTo(nil), rest...), data) {
			t.Errorf("%x parses, but is encoded in another way", data)
		}
		if m, err := ParseMessage(bits, data); len(m.Entries) > len(data) || err == nil && m.Header != header {
			t.Errorf("observed %d entries, %+v, %v", len(m.Entries), m.Header, err)
		}
	})
}
