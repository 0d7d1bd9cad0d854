package faultrule

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

func TestText(t *testing.T) {
	spec.Covers(t, "FR-1", "FR-14")
	for text, want := range map[string]nid.NID{
		"*": nid.Any(), "*@tcp1": nid.MustParse("255.255.255.255@tcp1"), "10.0.0.1@tcp": here, "255.255.255.255@tcp": wholeNet(here.Net()),
		"*@gni": nid.MustParse("4294967295@gni"), "fd88::2@tcp": nid.MustParse("fd88::2@tcp"),
	} {
		got, err := ParseNID(text)
		if err != nil || got != want {
			t.Errorf("%s: %v %v", text, got, err)
		}
		if again, err := ParseNID(FormatNID(got)); err != nil || again != got {
			t.Errorf("%s: its text %s is of %v, %v", text, FormatNID(got), again, err)
		}
	}
	for _, text := range []string{"", "nosuch", "*@", "*@nosuch", "10.0.0.[1-5]@tcp", "**"} {
		if got, err := ParseNID(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	for text, want := range map[string]Classes{
		"local_interrupt": 1 << 1, "local_dropped,remote_dropped": 1<<2 | 1<<8, "network_timeout": 1 << 10, "random": 0x7fe, "LOCAL_ERROR": 1 << 5,
	} {
		got, err := ParseClasses(text)
		if err != nil || got != want {
			t.Errorf("%s: %#x %v", text, got, err)
		}
		if again, err := ParseClasses(got.String()); err != nil || again != got {
			t.Errorf("%s: its text %s is of %#x, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "nosuch", "local_dropped,", "ok"} {
		if got, err := ParseClasses(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
