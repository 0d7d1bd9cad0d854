package socklnd_test

import (
	"errors"
	"syscall"
	"testing"

	"ulnet/lnd/socklnd"
	"ulnet/lnet/nid"
)

// TestReasons has the word of each reason, which monitoring reads, and the error number that
// LNet reports for it: EIO where the table has none.
func TestReasons(t *testing.T) {
	table := map[socklnd.Reason]struct {
		word  string
		errno syscall.Errno
	}{
		socklnd.ReasonNone:        {word: "none"},
		socklnd.UnprivilegedPort:  {word: "unprivileged_port"},
		socklnd.HandshakeLimit:    {word: "handshake_limit"},
		socklnd.AddressLimit:      {word: "address_limit"},
		socklnd.ConnLimit:         {word: "connection_limit"},
		socklnd.AcceptorTimeout:   {word: "acceptor_timeout"},
		socklnd.AcceptorCut:       {word: "acceptor_cut"},
		socklnd.AcceptorMagic:     {word: "acceptor_magic"},
		socklnd.GenericMagic:      {word: "generic_magic"},
		socklnd.AcceptorVersion:   {word: "acceptor_version"},
		socklnd.ForeignNID:        {word: "foreign_nid"},
		socklnd.AcceptFailed:      {word: "accept_failed"},
		socklnd.NoAddress:         {word: "no_address"},
		socklnd.HelloTimeout:      {word: "hello_timeout"},
		socklnd.HelloCut:          {word: "hello_cut"},
		socklnd.HelloMagic:        {word: "hello_magic"},
		socklnd.HelloVersion:      {word: "hello_version"},
		socklnd.HelloAddresses:    {word: "hello_addresses"},
		socklnd.HelloSource:       {word: "hello_source"},
		socklnd.HelloNet:          {word: "hello_net"},
		socklnd.HelloAddress:      {word: "hello_address"},
		socklnd.HelloType:         {word: "hello_type"},
		socklnd.RefusedRace:       {word: "refused_race"},
		socklnd.RefusedDuplicate:  {word: "refused_duplicate"},
		socklnd.RefusedRestart:    {word: "refused_restart"},
		socklnd.RefusedProtocol:   {word: "refused_protocol"},
		socklnd.HelloWriteFailed:  {word: "hello_write_failed"},
		socklnd.ShuttingDown:      {word: "shutting_down", errno: syscall.ESHUTDOWN},
		socklnd.ConnectFailed:     {word: "connect_failed", errno: syscall.EHOSTUNREACH},
		socklnd.ConnectTimeout:    {word: "connect_timeout", errno: syscall.EHOSTUNREACH},
		socklnd.NoReservedPort:    {word: "no_reserved_port", errno: syscall.EACCES},
		socklnd.NoFreePort:        {word: "no_free_port", errno: syscall.EADDRINUSE},
		socklnd.DialHelloCut:      {word: "dial_hello_cut", errno: syscall.EHOSTUNREACH},
		socklnd.DialHelloBad:      {word: "dial_hello_bad", errno: syscall.EPROTO},
		socklnd.DialHelloPeer:     {word: "dial_hello_peer", errno: syscall.EPROTO},
		socklnd.DialHelloType:     {word: "dial_hello_type", errno: syscall.EPROTO},
		socklnd.DialRefused:       {word: "dial_refused", errno: syscall.EHOSTUNREACH},
		socklnd.DialOtherVersion:  {word: "dial_other_version", errno: syscall.EPROTO},
		socklnd.TooSoon:           {word: "too_soon", errno: syscall.EHOSTUNREACH},
		socklnd.NoRoute:           {word: "no_route", errno: syscall.EHOSTUNREACH},
		socklnd.PeerClosed:        {word: "peer_closed"},
		socklnd.CutMessage:        {word: "cut_message"},
		socklnd.ReadFailed:        {word: "read_failed"},
		socklnd.WriteFailed:       {word: "write_failed"},
		socklnd.ReceiveTimeout:    {word: "receive_timeout", errno: syscall.ETIMEDOUT},
		socklnd.SendTimeout:       {word: "send_timeout", errno: syscall.ETIMEDOUT},
		socklnd.BadMessageType:    {word: "bad_message_type", errno: syscall.EPROTO},
		socklnd.BadChecksum:       {word: "bad_checksum"},
		socklnd.BadAck:            {word: "bad_ack", errno: syscall.EPROTO},
		socklnd.TooManyAcks:       {word: "too_many_acks", errno: syscall.EPROTO},
		socklnd.BadMessage:        {word: "bad_message", errno: syscall.EPROTO},
		socklnd.BadHeader:         {word: "bad_header", errno: syscall.EINVAL},
		socklnd.PeerRestarted:     {word: "peer_restarted"},
		socklnd.ProtocolChanged:   {word: "protocol_changed"},
		socklnd.ForeignChecksum:   {word: "foreign_checksum"},
		socklnd.RepeatedCookie:    {word: "repeated_cookie"},
		socklnd.DatagramCut:       {word: "datagram_cut"},
		socklnd.DatagramForeign:   {word: "datagram_foreign"},
		socklnd.DatagramVersion:   {word: "datagram_version"},
		socklnd.DatagramHeader:    {word: "datagram_header"},
		socklnd.DatagramLength:    {word: "datagram_length"},
		socklnd.DatagramType:      {word: "datagram_type"},
		socklnd.DatagramOwn:       {word: "datagram_own"},
		socklnd.DatagramNet:       {word: "datagram_net"},
		socklnd.DatagramSource:    {word: "datagram_source"},
		socklnd.DatagramGroup:     {word: "datagram_group"},
		socklnd.DatagramInterface: {word: "datagram_interface"},
		socklnd.DatagramTooLong:   {word: "datagram_too_long", errno: syscall.EMSGSIZE},
		socklnd.DatagramFailed:    {word: "datagram_failed"},
	}
	for r, want := range table {
		if r.String() != want.word {
			t.Errorf("reason %d is called %q, want %q", r, r, want.word)
		}
		if want.errno == 0 {
			want.errno = syscall.EIO
		}
		var err error = socklnd.NewError(r, nid.ProcessID{}, nil)
		if e, ok := errors.AsType[*socklnd.Error](err); !ok || e.Reason != r || !errors.Is(err, want.errno) {
			t.Errorf("%v: want the reason %v and %v", err, r, want.errno)
		}
	}
	for _, r := range socklnd.Reasons() {
		if _, ok := table[r]; !ok {
			t.Errorf("the table does not have the reason %v", r)
		}
	}
}
