package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ulnet/lnet/nid"
)

// field is one wire field of a golden encoding.
type field struct {
	off  int
	name string // name of the field in C
	hex  string // bytes of the field; "00*8" is eight times 00
}

// equal makes cmp compare NIDs with ==.
var equal = cmpopts.EquateComparable(nid.NID{})

// join returns the bytes of fields and checks that each has its offset.
func join(t *testing.T, fields []field) (b []byte) {
	t.Helper()
	for _, f := range fields {
		if len(b) != f.off {
			t.Fatalf("%s stands at offset %d, want %d", f.name, len(b), f.off)
		}
		b = append(b, unhex(t, f.hex)...)
	}
	return b
}

func unhex(t testing.TB, s string) (b []byte) {
	t.Helper()
	for word := range strings.FieldsSeq(s) {
		digits, times, repeated := strings.Cut(word, "*")
		n := 1
		if repeated {
			if _, err := fmt.Sscan(times, &n); err != nil {
				t.Fatal(err)
			}
		}
		part, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, bytes.Repeat(part, n)...)
	}
	return b
}

// dump returns b as text with one field per line.
func dump(b []byte, fields []field) string {
	var s strings.Builder
	for i, f := range fields {
		end := len(b)
		if i+1 < len(fields) {
			end = fields[i+1].off
		}
		fmt.Fprintf(&s, "%3d %s: % x\n", f.off, f.name, b[min(f.off, len(b)):min(end, len(b))])
	}
	return s.String()
}

// checkGolden appends value, parses it back, and parses every truncation.
func checkGolden[T any](t *testing.T, value T, fields []field,
	encode func(T, []byte) ([]byte, error), parse func([]byte) (T, []byte, error),
) {
	t.Helper()
	want := join(t, fields)
	got, err := encode(value, []byte{0xEE})
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != 0xEE {
		t.Error("what stood before is gone")
	}
	if diff := cmp.Diff(dump(want, fields), dump(got[1:], fields)); diff != "" {
		t.Errorf("encoding (-want +got)\n%s", diff)
	}
	parsed, rest, err := parse(append(bytes.Clone(want), 0xEE))
	if err != nil || !bytes.Equal(rest, []byte{0xEE}) {
		t.Fatalf("parsing: rest % x, %v", rest, err)
	}
	if diff := cmp.Diff(value, parsed, equal); diff != "" {
		t.Errorf("parsed (-want +got)\n%s", diff)
	}
	for n := range want {
		if _, rest, err := parse(want[:n:n]); !errors.Is(err, ErrShort) || len(rest) != n {
			t.Errorf("%d of %d bytes: rest %d, %v, want %v", n, len(want), len(rest), err, ErrShort)
		}
	}
}

// readHex returns the bytes of a file of testdata.
func readHex(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".hex"))
	if err != nil {
		t.Fatal(err)
	}
	return unhex(t, string(text))
}
