package o2iblnd_test

import (
	"errors"
	"syscall"
	"testing"

	"ulnet/lnd/o2iblnd"
	"ulnet/lnet/nid"
)

// TestReasons has the word of each reason, which monitoring reads, and the error number that
// LNet reports for it: EIO where the table has none.
func TestReasons(t *testing.T) {
	table := map[o2iblnd.Reason]struct {
		word  string
		errno syscall.Errno
	}{
		o2iblnd.ReasonNone:       {word: "none"},
		o2iblnd.UnprivilegedPort: {word: "unprivileged_port"},
		o2iblnd.RequestCut:       {word: "request_cut"},
		o2iblnd.RequestMagic:     {word: "request_magic"},
		o2iblnd.RequestVersion:   {word: "request_version"},
		o2iblnd.RequestBad:       {word: "request_bad"},
		o2iblnd.RequestType:      {word: "request_type"},
		o2iblnd.ForeignNID:       {word: "foreign_nid"},
		o2iblnd.RequestSource:    {word: "request_source"},
		o2iblnd.RefusedEarly:     {word: "refused_early"},
		o2iblnd.RefusedStale:     {word: "refused_stale"},
		o2iblnd.RefusedDepth:     {word: "refused_depth"},
		o2iblnd.RefusedFrags:     {word: "refused_frags"},
		o2iblnd.RefusedSize:      {word: "refused_size"},
		o2iblnd.RefusedRestart:   {word: "refused_restart"},
		o2iblnd.RefusedRace:      {word: "refused_race"},
		o2iblnd.RefusedLimit:     {word: "refused_limit"},
		o2iblnd.AcceptFailed:     {word: "accept_failed"},
		o2iblnd.ShuttingDown:     {word: "shutting_down", errno: syscall.ESHUTDOWN},
		o2iblnd.ConnectFailed:    {word: "connect_failed", errno: syscall.EHOSTUNREACH},
		o2iblnd.Unreachable:      {word: "unreachable", errno: syscall.ENETDOWN},
		o2iblnd.NoListener:       {word: "no_listener", errno: syscall.EHOSTUNREACH},
		o2iblnd.RejectedRace:     {word: "rejected_race", errno: syscall.ECONNREFUSED},
		o2iblnd.RejectedStale:    {word: "rejected_stale", errno: syscall.ECONNREFUSED},
		o2iblnd.RejectedDepth:    {word: "rejected_depth", errno: syscall.ECONNREFUSED},
		o2iblnd.RejectedFrags:    {word: "rejected_frags", errno: syscall.ECONNREFUSED},
		o2iblnd.RejectedMTU:      {word: "rejected_mtu", errno: syscall.ECONNREFUSED},
		o2iblnd.RejectedVersion:  {word: "rejected_version", errno: syscall.EPROTONOSUPPORT},
		o2iblnd.RejectedEarly:    {word: "rejected_early", errno: syscall.ECONNREFUSED},
		o2iblnd.RejectedLimit:    {word: "rejected_limit", errno: syscall.ECONNREFUSED},
		o2iblnd.Rejected:         {word: "rejected", errno: syscall.ECONNREFUSED},
		o2iblnd.AckBad:           {word: "ack_bad", errno: syscall.EPROTO},
		o2iblnd.AckParams:        {word: "ack_params", errno: syscall.EPROTO},
		o2iblnd.AckPeer:          {word: "ack_peer", errno: syscall.ESTALE},
		o2iblnd.QueueTimeout:     {word: "queue_timeout", errno: syscall.ETIMEDOUT},
		o2iblnd.PeerClosed:       {word: "peer_closed", errno: syscall.ECONNABORTED},
		o2iblnd.TransportFailed:  {word: "transport_failed", errno: syscall.ECONNABORTED},
		o2iblnd.NotPosted:        {word: "not_posted", errno: syscall.ENOMEM},
		o2iblnd.BadMessage:       {word: "bad_message", errno: syscall.EPROTO},
		o2iblnd.BadChecksum:      {word: "bad_checksum", errno: syscall.EIO},
		o2iblnd.StaleMessage:     {word: "stale_message", errno: syscall.ESTALE},
		o2iblnd.CreditsReturned:  {word: "credits_returned", errno: syscall.EPROTO},
		o2iblnd.CreditsOverdrawn: {word: "credits_overdrawn", errno: syscall.EPROTO},
		o2iblnd.UnexpectedType:   {word: "unexpected_type", errno: syscall.EPROTO},
		o2iblnd.UnknownCookie:    {word: "unknown_cookie", errno: syscall.EPROTO},
		o2iblnd.BadStatus:        {word: "bad_status", errno: syscall.EPROTO},
		o2iblnd.BadDescriptor:    {word: "bad_descriptor", errno: syscall.EPROTO},
		o2iblnd.Refused:          {word: "refused", errno: syscall.EPROTO},
		o2iblnd.SendTimeout:      {word: "send_timeout", errno: syscall.ETIMEDOUT},
		o2iblnd.CreditTimeout:    {word: "credit_timeout", errno: syscall.ETIMEDOUT},
		o2iblnd.PeerRestarted:    {word: "peer_restarted", errno: syscall.ESTALE},
		o2iblnd.NoMemory:         {word: "no_memory", errno: syscall.ENOMEM},
		o2iblnd.PeerStatus:       {word: "peer_status"},
		o2iblnd.NoTx:             {word: "no_tx", errno: syscall.ENOMEM},
		o2iblnd.TooManyFrags:     {word: "too_many_frags", errno: syscall.EMSGSIZE},
		o2iblnd.BadHeader:        {word: "bad_header", errno: syscall.EINVAL},
		o2iblnd.NoReply:          {word: "no_reply"},
		o2iblnd.NotWritten:       {word: "not_written"},
		o2iblnd.SumNotTrusted:    {word: "sum_not_trusted"},
		o2iblnd.Redialled:        {word: "redialled"},
		o2iblnd.RedialLimited:    {word: "redial_limited"},
		o2iblnd.DatagramCut:      {word: "datagram_cut"},
		o2iblnd.DatagramForeign:  {word: "datagram_foreign"},
		o2iblnd.DatagramVersion:  {word: "datagram_version"},
		o2iblnd.DatagramHeader:   {word: "datagram_header"},
		o2iblnd.DatagramLength:   {word: "datagram_length"},
		o2iblnd.DatagramType:     {word: "datagram_type"},
		o2iblnd.DatagramOwn:      {word: "datagram_own"},
		o2iblnd.DatagramNet:      {word: "datagram_net"},
		o2iblnd.DatagramSource:   {word: "datagram_source"},
		o2iblnd.DatagramGroup:    {word: "datagram_group"},
		o2iblnd.DatagramTooLong:  {word: "datagram_too_long", errno: syscall.EMSGSIZE},
		o2iblnd.DatagramFailed:   {word: "datagram_failed"},
	}
	for r, want := range table {
		if r.String() != want.word {
			t.Errorf("reason %d is called %q, want %q", r, r, want.word)
		}
		if want.errno == 0 {
			want.errno = syscall.EIO
		}
		var err error = o2iblnd.NewError(r, nid.ProcessID{}, nil)
		if e, ok := errors.AsType[*o2iblnd.Error](err); !ok || e.Reason != r || !errors.Is(err, want.errno) {
			t.Errorf("%v: want the reason %v and %v", err, r, want.errno)
		}
	}
	for _, r := range o2iblnd.Reasons() {
		if _, ok := table[r]; !ok {
			t.Errorf("the table does not have the reason %v", r)
		}
	}
}
