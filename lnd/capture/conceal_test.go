package capture_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// signal is a buffer that closes a channel when its first bytes are written.
type signal struct {
	bytes.Buffer
	begun chan struct{}
}

func (s *signal) Write(b []byte) (int, error) {
	if s.Len() == 0 {
		close(s.begun)
	}
	return s.Buffer.Write(b)
}

// viewHeaders returns the output of a viewer of headers while play captures something.
func viewHeaders(t testing.TB, play func(w *capture.Writer)) []byte {
	t.Helper()
	w, err := capture.NewWriter(nil, clock())
	if err != nil {
		t.Fatal(err)
	}
	out := &signal{begun: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- w.ViewHeaders(context.Background(), out) }()
	<-out.begun
	play(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestHeadersOfStreams: in whatever pieces a driver reads and writes, a viewer of headers
// sees each handshake and each header of the kernels' messages, and zeros for their payload
// and checksums.
func TestHeadersOfStreams(t *testing.T) {
	files, _ := filepath.Glob("testdata/tcp*.pcap")
	rng := rand.New(rand.NewPCG(1, 2))
	payload := 0
	for _, file := range files {
		if filepath.Base(file) == "tcp-err-handshake.pcap" {
			continue // the handshakes in this file are invalid, so the concealer makes all bytes after them zeros
		}
		var want []seen
		decodeFile(t, file, func(r *capture.Record) {
			if r.Length > 0 && r.Kind != capture.Unknown {
				raw := bytes.Clone(r.Raw)
				if (r.Kind == capture.Message && r.Framed) || r.Kind == capture.Noop {
					clear(raw[4:8])
				}
				payload += len(r.Payload)
				clear(raw[len(raw)-len(r.Payload):])
				want = append(want, seen{r.Conn.ID, r.From, r.Kind, r.Offset, string(raw), nil})
			}
		})
		list, n := runs(t, file)
		for range effort.Of(1, 5, 5) * min(1, len(want)) {
			shown := viewHeaders(t, func(w *capture.Writer) { play(taps(w, n, true), chop(rng, list), capture.Initiator) })
			got := slices.DeleteFunc(decodeStream(t, bytes.NewReader(shown)), func(r seen) bool { return r.Raw == "" || r.Kind == capture.Unknown })
			for i := range got {
				got[i].Err = nil
			}
			slices.SortFunc(want, inOrder)
			slices.SortFunc(got, inOrder)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", file, diff)
			}
		}
	}
	if payload == 0 {
		t.Error("the captures have no payload that could be seen")
	}
}

// chop cuts runs into pieces.
func chop(rng *rand.Rand, list []run) (pieces []run) {
	for _, r := range list {
		for rest := r.bytes; len(rest) > 0; {
			n := 1 + rng.IntN(min(len(rest), 200))
			pieces = append(pieces, run{r.conn, r.from, rest[:n]})
			rest = rest[n:]
		}
	}
	return pieces
}

// TestHeadersOfNoLNet: to a viewer of headers, a connection that does not carry LNet is all
// zeros.
func TestHeadersOfNoLNet(t *testing.T) {
	const secret = "GET /password HTTP/1.1"
	list, _ := runs(t, "testdata/tcp-ping.pcap")
	for _, after := range []int{0, 4, len(list)} {
		shown := viewHeaders(t, func(w *capture.Writer) {
			flows := taps(w, 3, true)
			play(flows, list[:after], capture.Initiator)
			for _, f := range flows {
				f.Sent([]byte(strings.Repeat(secret, 100)))
				f.Received([]byte(strings.Repeat(secret, 100)))
			}
		})
		if bytes.Contains(shown, []byte(secret)) {
			t.Errorf("after %d runs what is no message is shown", after)
		}
	}
}

// TestHeadersOfDatagrams: a viewer of headers sees only the header of a datagram, not its payload.
func TestHeadersOfDatagrams(t *testing.T) {
	const secret = "hello to all"
	shown := viewHeaders(t, func(w *capture.Writer) {
		for _, c := range [][2]string{{"10.0.0.1", "239.76.0.5"}, {"fd00::1", "ff15::4c4e:5"}} {
			from, to, b := datagram(t, c[0], c[1], secret)
			w.Datagram(from, to, true, [][]byte{b[:20], b[20:]})
			w.Datagram(from, to, true, [][]byte{[]byte(secret)})
			w.Datagram(from, to, true, [][]byte{[]byte("12345678" + secret)})
		}
	})
	if bytes.Contains(shown, []byte(secret)) {
		t.Error("payload is shown")
	}
	list, _ := dissect(t, shown, capture.Options{KeepPayload: 100})
	messages := 0
	for _, r := range list {
		if r.Kind == capture.Message {
			messages++
			if r.Header.Put().MatchBits != 5 || len(r.Payload) != len(secret) {
				t.Errorf("header %+v, payload of %d bytes", r.Header, len(r.Payload))
			}
		}
	}
	if messages != 2 {
		t.Errorf("%d messages, want 2", messages)
	}
}

// TestHeadersOfRoCE: when kernels' packets of RoCE are captured for a viewer of headers, the same
// connections, messages and LNet headers are in its capture, and the ICRCs are correct. The payload
// is zeros.
func TestHeadersOfRoCE(t *testing.T) {
	payload := 0
	for _, dir := range captureDirs {
		files, _ := filepath.Glob(filepath.Join(dir.path, "o2ib-*.pcap"))
		for _, file := range files {
			var tapped []capture.Packet
			shown := viewHeaders(t, func(w *capture.Writer) {
				for _, p := range packetsOf(t, openFile(t, file)) {
					if packet, ok := packetOf(t, p); ok {
						tapped = append(tapped, p)
						w.Packet(packet)
					}
				}
			})
			want := headersOf(t, tapped)
			got := headersOf(t, packetsOf(t, bytes.NewReader(shown)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-captured +shown):\n%s", file, diff)
			}
			payload += payloadOf(t, packetsOf(t, bytes.NewReader(shown)))
		}
	}
	if payload > 0 {
		t.Errorf("%d bytes of payload are not zeros", payload)
	}
}

// headersOf returns the kinds and LNet headers of messages over RDMA.
func headersOf(t testing.TB, packets []capture.Packet) (list []string) {
	t.Helper()
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		if r.Kind == capture.Message || r.Kind == capture.Exchange {
			line := fmt.Sprint(r.Kind)
			if r.RoCE != nil && r.RoCE.HasMsg {
				line += " " + r.RoCE.Msg.Type.String()
			}
			if r.RoCE != nil && r.RoCE.HasMsg && r.RoCE.Msg.Type.HasLNet() {
				line += fmt.Sprintf(" %+v", r.Header)
			}
			list = append(list, line)
		}
	})
	for _, p := range packets {
		d.Packet(p.Time, p.Link, p.Data)
	}
	d.Close()
	return list
}

// payloadOf counts the bytes that are not zero where messages over RDMA have payload.
func payloadOf(t testing.TB, packets []capture.Packet) (n int) {
	t.Helper()
	for _, p := range packets {
		packet, ok := packetOf(t, p)
		if !ok {
			continue
		}
		parsed, err := ibta.ParsePacket(packet.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		b := parsed.Payload
		switch {
		case parsed.BTH.DestQP == 1 || !parsed.BTH.OpCode.IsRequest():
			continue
		case parsed.BTH.OpCode.IsSend() && parsed.BTH.OpCode.IsFirst():
			if kib.MsgType(b[6]) != kib.Immediate {
				continue
			}
			b = b[min(len(b), kib.ImmediateSize):]
		}
		n += len(b) - bytes.Count(b, []byte{0})
	}
	return n
}

// TestHeadersOfDescriptions: keys and addresses that give access to memory are not shown.
func TestHeadersOfDescriptions(t *testing.T) {
	desc, err := kib.MakeDesc(nil, 0xA1B2C3D4, kib.Frag{Length: 4096, Address: 0x1122334455667788})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []kib.Msg{
		{Header: kib.Header{Type: kib.PutAck}, Desc: desc},
		{Header: kib.Header{Type: kib.GetReq}, LNet: putHeader(0), Desc: desc},
	} {
		wire := newRoceWire(t)
		wire.message(0, m, 1024)
		wire.write(0, []byte("data"), 1024, 0xA1B2C3D4, 0x1122334455667788)
		shown := viewHeaders(t, func(w *capture.Writer) {
			for _, p := range wire.list {
				packet, ok := packetOf(t, p)
				if !ok {
					t.Fatal("no packet of RoCE")
				}
				w.Packet(packet)
			}
		})
		for _, secret := range [][]byte{
			{0xD4, 0xC3, 0xB2, 0xA1},
			{0xA1, 0xB2, 0xC3, 0xD4},
			{0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11},
			{0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88},
			[]byte("data"),
		} {
			if bytes.Contains(shown, secret) {
				t.Errorf("%v: % x is shown", m.Type, secret)
			}
		}
	}
}

// TestRotate begins a new file after each piece of a capture: together the two files have
// every message, once, and each of them has the handshakes.
func TestRotate(t *testing.T) {
	for _, file := range []string{"tcp-ping.pcap", "tcp6-ping-discover.pcap", "tcp-proto-v1-passive.pcap"} {
		list, n := runs(t, "testdata/"+file)
		for cut := range len(list) + 1 {
			var first, second bytes.Buffer
			w, err := capture.NewWriter(&first, clock())
			if err != nil {
				t.Fatal(err)
			}
			flows := taps(w, n, true)
			play(flows, list[:cut], capture.Initiator)
			if err := w.Rotate(&second); err != nil {
				t.Fatal(err)
			}
			size := first.Len()
			play(flows, list[cut:], capture.Initiator)
			if err := w.Close(); err != nil || first.Len() != size {
				t.Fatal(err, first.Len(), size)
			}
			var got []string
			for _, out := range []*bytes.Buffer{&first, &second} {
				for _, r := range decodeStream(t, out) {
					if r.Kind == capture.Message || r.Kind == capture.Noop || r.Kind == capture.Unknown {
						got = append(got, r.Raw)
					}
				}
			}
			var want []string
			for _, r := range list {
				if !isHandshake(r.bytes) {
					want = append(want, string(r.bytes))
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s, another file after %d runs (-want +got):\n%s", file, cut, diff)
			}
		}
	}
}

// TestRotateToFull: if the beginning of the new file cannot be written, the capture continues in the old one.
func TestRotateToFull(t *testing.T) {
	var out bytes.Buffer
	w, err := capture.NewWriter(&out, clock())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Rotate(&failing{}); !errors.Is(err, errFull) || !errors.Is(err, capture.ErrNotRotated) {
		t.Errorf("%v, want ErrNotRotated and the error of the file", err)
	}
	play(taps(w, 1, true), bulkRuns(0)[:2], capture.Initiator)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if got := decodeStream(t, &out); len(got) < 3 {
		t.Errorf("the old file has %d records", len(got))
	}
}

// TestRotateNothing: a Writer that writes no file cannot rotate.
func TestRotateNothing(t *testing.T) {
	w, err := capture.NewWriter(nil, clock())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Rotate(io.Discard); err != capture.ErrClosed {
		t.Errorf("without a file: %v", err)
	}
}
