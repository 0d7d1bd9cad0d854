package main

import (
	"testing"

	"ulnet/lnet"
)

// TestBreach: a message for another NID is a violation, unless a fault explains it.
func TestBreach(t *testing.T) {
	for reason, want := range map[lnet.DropReason]string{
		lnet.StaleHandle: "", lnet.ForwardFailed: "", lnet.ForeignSource: "",
		lnet.WrongNI: "3 messages for another NID (wrong NI)", lnet.NotDirect: "3 messages for another NID (not direct)",
	} {
		if got := breach(map[string]uint64{reason.String(): 3}); got != want {
			t.Errorf("%v: %q, want %q", reason, got, want)
		}
	}
	if got := breach(nil); got != "" {
		t.Errorf("nothing dropped: %q", got)
	}
}
