package o2iblnd_test

import (
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnet/nid"
)

// TestFailureClasses (HV-3): each reason has the failure class that the table in docs/o2ib.md
// gives it.
func TestFailureClasses(t *testing.T) {
	spec.Covers(t, "HV-3")
	for want, reasons := range map[lnd.Failure][]o2iblnd.Reason{
		lnd.FailureNone:   {o2iblnd.ShuttingDown, o2iblnd.BadHeader, o2iblnd.TooManyFrags, o2iblnd.NoReply, o2iblnd.DatagramTooLong, o2iblnd.DatagramFailed},
		lnd.LocalDropped:  {o2iblnd.ConnectFailed, o2iblnd.AcceptFailed, o2iblnd.NotPosted},
		lnd.LocalError:    {o2iblnd.NoTx, o2iblnd.NoMemory},
		lnd.RemoteDropped: {o2iblnd.Unreachable, o2iblnd.NoListener, o2iblnd.Rejected, o2iblnd.RejectedEarly, o2iblnd.RejectedStale, o2iblnd.RejectedVersion, o2iblnd.PeerClosed, o2iblnd.TransportFailed},
		lnd.RemoteTimeout: {o2iblnd.SendTimeout, o2iblnd.CreditTimeout}, lnd.NetworkTimeout: {o2iblnd.QueueTimeout},
		lnd.RemoteError: {o2iblnd.AckBad, o2iblnd.AckParams, o2iblnd.AckPeer, o2iblnd.BadMessage, o2iblnd.BadChecksum, o2iblnd.StaleMessage, o2iblnd.CreditsOverdrawn, o2iblnd.PeerRestarted, o2iblnd.PeerStatus, o2iblnd.NotWritten},
	} {
		for _, r := range reasons {
			if got := lnd.FailureOf(o2iblnd.NewError(r, nid.ProcessID{}, nil)); got != want {
				t.Errorf("%v: %v, want %v", r, got, want)
			}
		}
	}
}
