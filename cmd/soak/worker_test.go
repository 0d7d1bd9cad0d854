package main

import (
	"testing"

	"ulnet/lnet"
)

// TestBreach: drops of messages for another NID are a violation. Drops for reasons that a fault can
// cause are none.
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
