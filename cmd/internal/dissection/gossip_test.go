package dissection

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	gossipwire "ulnet/gossip/wire"
	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet/wire"
)

// gossipFile is the capture that testdata/gossip.txt prints.
var gossipFile = filepath.Join(captures, "gossip.pcapng")

// TestGossipDecodes: all messages of a recorded exchange are parsed, and truncated messages
// are reported as such.
func TestGossipDecodes(t *testing.T) {
	seen := map[string]int{}
	capturetest.Decode(t, gossipFile, func(r *capture.Record) {
		p, ok := dissectors.Read(r)
		if !ok {
			return
		}
		if p.Err != nil || p.Protocol != "gossip" {
			t.Errorf("frame %d: %+v", r.Frame, p)
			return
		}
		seen[p.Is.(*gossipMessage).kind()]++
		cut := *r
		cut.Payload, cut.Missing = r.Payload[:len(r.Payload)-1], 1
		if p, _ := dissectors.Read(&cut); p.Err != capture.ErrPartOfPayload {
			t.Errorf("frame %d, cut: %+v", r.Frame, p)
		}
	})
	if seen["ping"] < 10 || seen["reply"] < 10 {
		t.Errorf("found %v", seen)
	}
}

// TestGossipTshark: Wireshark reads the same capture.
func TestGossipTshark(t *testing.T) {
	effort.OneGoroutine(t)
	capturetest.AgreeWithTshark(t, gossipFile)
}

// TestGossipHostile: a payload that is not gossip is shown as bytes. If only the header of a
// message is valid, only the header is shown.
func TestGossipHostile(t *testing.T) {
	header := gossipwire.Header{Flags: gossipwire.FlagBitmap, N: 1 << 31, Clock: 1 << 63}.AppendTo(nil)
	for _, c := range []struct {
		name string
		bits uint64
		data []byte
		is   bool
		err  error
	}{
		{"bits of nobody", 7, header, false, gossipwire.ErrBits},
		{"nothing", gossipwire.PingBits, nil, false, gossipwire.ErrShort},
		{"another version", gossipwire.PingBits, make([]byte, 100), false, gossipwire.ErrVersion},
		{"a bitmap of 2^31", gossipwire.ReplyBits, append(header, 1, 2, 3), true, gossipwire.ErrBody},
		{"ping with a bitmap", gossipwire.PingBits, header, true, gossipwire.ErrBody},
	} {
		is, err := readGossip(wire.PutCmd{MatchBits: c.bits}, c.data)
		if (is != nil) != c.is || err != c.err {
			t.Errorf("%s: %v, %v, want %v", c.name, is, err, c.err)
		}
	}
}

// FuzzGossip: any input can be shown, and the size of the output is bounded by the message.
func FuzzGossip(f *testing.F) {
	capturetest.Decode(f, gossipFile, func(r *capture.Record) {
		if _, ok := dissectors.Read(r); ok {
			f.Add(r.Header.Put().MatchBits == gossipwire.ReplyBits, strings.Clone(string(r.Payload)))
		}
	})
	f.Fuzz(func(t *testing.T, reply bool, data string) {
		put := wire.PutCmd{MatchBits: gossipwire.PingBits}
		if reply {
			put.MatchBits = gossipwire.ReplyBits
		}
		is, err := readGossip(put, []byte(data))
		if is == nil {
			if err == nil {
				t.Error("nothing, without an error")
			}
			return
		}
		text, err := json.Marshal(is)
		size := len(is.Summary()) + len(strings.Join(is.Details(), "\n")) + len(text)
		if err != nil || size > 1000+40*len(data) {
			t.Errorf("%d bytes become %d: %v", len(data), size, err)
		}
	})
}
