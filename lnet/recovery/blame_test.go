package recovery

import (
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
)

// TestJudge (HV-4, HV-5) checks the consequence of every class of failure: for nodes with one NI or several,
// for routers, and for the other cases of the table.
func TestJudge(t *testing.T) {
	spec.Covers(t, "HV-4", "HV-5")
	const local, remote, again = 1, 2, 4
	class := map[lnd.Failure]int{
		lnd.FailureNone:    0,
		lnd.LocalInterrupt: local | again, lnd.LocalDropped: local | again, lnd.LocalAborted: local | again,
		lnd.LocalNoRoute: local | again, lnd.LocalTimeout: local | again, lnd.LocalError: local,
		lnd.RemoteError: remote, lnd.RemoteTimeout: remote, lnd.RemoteDropped: remote | again,
		lnd.NetworkTimeout: local | remote,
	}
	if len(class) != int(lnd.NumFailures) {
		t.Fatalf("%d classes, want %d", len(class), lnd.NumFailures)
	}
	for name, c := range map[string]struct {
		Case
		local, remote           bool // whether the local NI, and whether the remote NI, may be blamed
		localAgain, remoteAgain bool // whether the message may be sent again after a local or a remote failure
	}{
		"one NI each":             {Case{}, false, false, false, false},
		"two NIs here":            {Case{Rails: true}, true, false, true, false},
		"two NIs there":           {Case{PeerRails: true}, false, true, false, true},
		"two NIs each":            {Case{Rails: true, PeerRails: true}, true, true, true, true},
		"a router with one NI":    {Case{Router: true}, false, true, false, false},
		"a router, two NIs here":  {Case{Router: true, Rails: true}, true, true, true, false},
		"a router with two NIs":   {Case{Router: true, PeerRails: true}, false, true, false, true},
		"an NI of this node":      {Case{Rails: true, PeerRails: true, Own: true}, true, false, true, true},
		"it was arriving":         {Case{Rails: true, PeerRails: true, Received: true}, true, true, false, false},
		"a ping of recovery":      {Case{Rails: true, PeerRails: true, Recovery: true}, false, false, false, false},
		"after the deadline":      {Case{Rails: true, PeerRails: true, Late: true}, false, false, false, false},
		"after it, from a router": {Case{Rails: true, Router: true, Late: true}, false, false, false, false},
	} {
		for f, bits := range class {
			c.Failure = f
			want := Consequence{
				Local: bits&local != 0 && c.local, Remote: bits&remote != 0 && c.remote,
				Resend: bits&again != 0 && (bits&local != 0 && c.localAgain || bits&remote != 0 && c.remoteAgain),
			}
			if got := Judge(c.Case); got != want {
				t.Errorf("%s, %v: %+v, want %+v", name, f, got, want)
			}
		}
	}
}
