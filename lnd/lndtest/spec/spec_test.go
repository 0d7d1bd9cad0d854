package spec_test

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// attributes stands in for a testing.T: it keeps the attributes that Attr gives to a test.
type attributes struct {
	testing.TB
	got map[string]string
}

func (a *attributes) Helper() {}

func (a *attributes) Attr(key, value string) { a.got[key] = value }

func TestCovers(t *testing.T) {
	a := &attributes{got: map[string]string{}}
	spec.Covers(a, "SC-12", "CH-A16")
	if got := a.got["covers"]; got != "SC-12 CH-A16" {
		t.Errorf("covers %q", got)
	}
}
