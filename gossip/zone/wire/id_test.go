package wire

import (
	"errors"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestID checks which ids are valid (MS-5).
func TestID(t *testing.T) {
	spec.Covers(t, "MS-5")
	a, b := nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@o2ib")
	id, err := NewID("oss1", b, a)
	if err != nil {
		t.Fatal(err)
	}
	if again := MustParseID(id.String()); again != id || id.Name() != "oss1" || len(id.Endpoints()) != 2 {
		t.Errorf("%v is parsed as %v", id, again)
	}
	if other, _ := NewID("oss1", a, b); other != id {
		t.Error("the order of endpoints matters")
	}
	back, err := parseCanonical(id.AppendCanonical(nil))
	if err != nil || back != id {
		t.Errorf("canonical form: %v, %v", back, err)
	}
	many := make([]nid.NID, maxEndpoints+1)
	for i := range many {
		many[i] = nid.FromNumber(nid.MustParseNet("tcp"), uint32(i+1))
	}
	for _, c := range []struct {
		name      string
		endpoints []nid.NID
		err       error
	}{
		{"", []nid.NID{a}, ErrName},
		{"a b", []nid.NID{a}, ErrName},
		{"a=b", []nid.NID{a}, ErrName},
		{"a\x00b", []nid.NID{a}, ErrName},
		{strings.Repeat("x", 10<<10), []nid.NID{a}, ErrName},
		{"x", nil, ErrEndpoints},
		{"x", []nid.NID{a, a}, ErrEndpoints},
		{"x", []nid.NID{nid.Any()}, ErrEndpoints},
		{"x", many, ErrEndpoints},
	} {
		if id, err := NewID(c.name, c.endpoints...); !errors.Is(err, c.err) {
			t.Errorf("%.10q %v: %v, %v", c.name, c.endpoints, id, err)
		}
	}
	for _, text := range []string{"", "x", "x=", "x=y", "=10.0.0.1@tcp", "x=10.0.0.1@tcp,"} {
		if id, err := ParseID(text); err == nil {
			t.Errorf("%q is %v", text, id)
		}
	}
	if _, err := parseCanonical([]byte("x\x00" + strings.Repeat("\x00", 19))); !errors.Is(err, ErrEndpoints) {
		t.Errorf("a short endpoint: %v", err)
	}
}
