package o2iblnd

import (
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestFailureClasses shows row HV-3: the table in docs/o2ib.md.
func TestFailureClasses(t *testing.T) {
	spec.Covers(t, "HV-3")
	for want, reasons := range map[lnd.Failure][]Reason{
		lnd.FailureNone:   {ShuttingDown, BadHeader, TooManyFrags, NoReply, DatagramTooLong, DatagramFailed},
		lnd.LocalDropped:  {ConnectFailed, AcceptFailed},
		lnd.LocalError:    {NoTx, NoMemory},
		lnd.RemoteDropped: {Unreachable, NoListener, Rejected, RejectedEarly, RejectedStale, RejectedVersion, PeerClosed, TransportFailed},
		lnd.RemoteTimeout: {SendTimeout, CreditTimeout}, lnd.NetworkTimeout: {QueueTimeout},
		lnd.RemoteError: {AckBad, AckParams, AckPeer, BadMessage, BadChecksum, StaleMessage, CreditsOverdrawn, PeerRestarted, PeerStatus, NotWritten},
	} {
		for _, r := range reasons {
			if got := lnd.FailureOf(newError(r, nid.ProcessID{}, nil)); got != want {
				t.Errorf("%v: %v, want %v", r, got, want)
			}
		}
	}
}
