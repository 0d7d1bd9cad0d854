package replay_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/lnetd/internal/replay"
	"ulnet/lnd/capture"
)

// TestRecords cuts connections of every version of the protocol into records.
func TestRecords(t *testing.T) {
	for _, test := range []struct {
		name string
		conn int
		want string // of each record: the sender, the message, and the length in bytes
	}{
		{"tcp-ping", 0, "I ACCEPTOR 16, I HELLO 56, A HELLO 56, I GET 96, A REPLY 144, A GET 96, I REPLY 144"},
		{"tcp-discover", 0, "I ACCEPTOR 16, I HELLO 56, A HELLO 56, I GET 96, A REPLY 144, I PUT 144, A PUT 144, A ACK 96, I ACK 96, A GET 96, I REPLY 144"},
		{"tcp-err-put-noportal", 2, "I ACCEPTOR 16, I HELLO 56, A HELLO 56, A NOOP 24, A NOOP 24"},
		{"tcp-proto-v1-active", 0, "I ACCEPTOR 16, I HELLO 72, A HELLO 72, I GET 72, A REPLY 120, A GET 72, I REPLY 120"},
		{"tcp-proto-v1-passive", 0, "I ACCEPTOR 16, I HELLO 56, A HELLO 72"},
		{"tcp6-ping-discover", 1, "I ACCEPTOR 28, I HELLO 80, A HELLO 80"},
		{"tcp-err-handshake", 4, "I  72, A HELLO 56"}, // the acceptor answers with a HELLO of version 9
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, e := range load(t, test.name).Records().Events {
				if e.Kind != replay.Data || e.Conn != test.conn {
					continue
				}
				r := e.Record
				if r == nil {
					r = new(capture.Record)
				}
				got = append(got, fmt.Sprintf("%.1s %s %d", strings.ToUpper(e.From.String()), r.Type(), len(e.Data)))
			}
			if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOperations checks which operations the users of recorded nodes began.
func TestOperations(t *testing.T) {
	for _, test := range []struct {
		name string
		side replay.Side
		want []string
	}{
		{"tcp-ping", replay.Initiator, []string{"GET"}},
		{"tcp-ping", replay.Acceptor, []string{"GET"}},
		{"tcp-discover", replay.Initiator, []string{"GET"}},
		{"tcp-discover-push", replay.Acceptor, []string{"GET", "PUT", "PUT"}}, // a discovery, then a net is added and removed
		{"tcp-err-put-noportal", replay.Initiator, []string{"PUT"}},           // the discovery that follows from the PUT is not an operation of a user
		{"tcp-err-put-noportal", replay.Acceptor, nil},
		{"tcp6-ping-discover", replay.Initiator, []string{"GET", "GET"}}, // the GET of a ping and the GET of a discovery
	} {
		s := load(t, test.name).Records()
		var got []string
		for _, i := range s.Operations(s.Conns[0].Ends[test.side].Addr()) {
			got = append(got, s.Events[i].Record.Type())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s, %v (-want +got):\n%s", test.name, test.side, diff)
		}
	}
}

// FuzzFramer splits streams into records, and checks that the records make up the stream again.
func FuzzFramer(f *testing.F) {
	for _, name := range []string{"tcp-ping", "tcp-proto-v1-active", "tcp6-ping-discover", "tcp-err-put-noportal", "tcp-err-handshake"} {
		s, err := replay.Load(captureFile(name))
		if err != nil {
			f.Fatal(err)
		}
		streams := map[[2]int][]byte{}
		for _, e := range s.Events {
			at := [2]int{e.Conn, int(e.From)}
			streams[at] = append(streams[at], e.Data...)
		}
		for at, b := range streams {
			f.Add(b, at[1] == 0)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, dialled bool) {
		framer := replay.Framer{Side: replay.Acceptor}
		if dialled {
			framer.Side = replay.Initiator
		}
		var again []byte
		rest := b
		for {
			n, err := framer.Size(rest)
			if err != nil || n > len(rest) {
				break
			}
			if n <= 0 {
				t.Fatalf("a record of %d bytes", n)
			}
			r, err := framer.Next(rest[:n])
			if err != nil {
				break
			}
			again = append(again, r.Raw...)
			rest = rest[n:]
		}
		if !bytes.HasPrefix(b, again) {
			t.Error("the records are not the stream")
		}
	})
}
