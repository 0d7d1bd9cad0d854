package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

var testClient = ClientID{0: 0xC1, 15: 0x01}

func sample() Message {
	return Message{
		Kind: Connect, Code: OK, Client: testClient, Incarnation: 0x1112131415161718, ServerIncarnation: 0x21, Sequence: 0x31, Epoch: 0x41,
		Retry: 1500 * time.Millisecond, Server: nid.MustParse("10.0.0.1@tcp3"), Name: []byte("host-a"),
		Token: bytes.Repeat([]byte{0xEE}, TokenSize),
	}
}

// TestMessageBytes checks the encoding of a message, one line per field of the format.
func TestMessageBytes(t *testing.T) {
	want := strings.Join([]string{
		"484c5448",         // magic
		"01", "01", "0000", // version, kind, code
		"c1000000000000000000000000000001", // client
		"1817161514131211",                 // incarnation
		"2100000000000000",                 // server incarnation
		"3100000000000000",                 // sequence
		"41000000", "dc050000",             // epoch, retry in ms
		"000200030a000001000000000000000000000000", // server
		"0600", "2000", "00000000", // name, token, entries
		"686f73742d61", strings.Repeat("ee", TokenSize),
	}, "")
	m := sample()
	b := m.AppendTo(nil)
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	parsed, err := ParseMessage(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, parsed, cmp.Comparer(func(a, b nid.NID) bool { return a == b }), cmp.Comparer(func(a, b Entries) bool { return bytes.Equal(a, b) })); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for i := range b {
		if _, err := ParseMessage(b[:i]); !errors.Is(err, ErrShort) && !errors.Is(err, ErrBody) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
}

// TestMessageRefused: each malformed message is refused with its own reason.
func TestMessageRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Message)
		bytes  func([]byte) []byte
		want   error
	}{
		{name: "magic", bytes: func(b []byte) []byte { b[0]++; return b }, want: ErrMagic},
		{name: "version", bytes: func(b []byte) []byte { b[4]++; return b }, want: ErrVersion},
		{name: "kind 0", change: func(m *Message) { m.Kind = 0 }, want: ErrKind},
		{name: "kind", change: func(m *Message) { m.Kind, m.Name = kinds, nil }, want: ErrKind},
		{name: "code", change: func(m *Message) { m.Code = Codes }, want: ErrCode},
		{name: "client", change: func(m *Message) { m.Client = ClientID{} }, want: ErrClient},
		{name: "digest of a client", change: func(m *Message) { m.Kind, m.Name = Digest, nil }, want: ErrClient},
		{name: "no master", change: func(m *Message) { m.Server = nid.NID{} }, want: ErrServer},
		{name: "any server", change: func(m *Message) { m.Server = nid.Any() }, want: ErrServer},
		{name: "long NID", bytes: func(b []byte) []byte { b[56] = 200; return b }, want: ErrServer},
		{name: "long name", change: func(m *Message) { m.Name = bytes.Repeat([]byte("x"), MaxName+1) }, want: ErrName},
		{name: "control character", change: func(m *Message) { m.Name = []byte("a\x1b[2J") }, want: ErrName},
		{name: "not UTF-8", change: func(m *Message) { m.Name = []byte{0xFF} }, want: ErrName},
		{name: "name of a ping", change: func(m *Message) { m.Kind = Ping }, want: ErrBody},
		{name: "token", change: func(m *Message) { m.Token = m.Token[1:] }, want: ErrBody},
		{name: "code of a ping", change: func(m *Message) { m.Kind, m.Name, m.Proof = Ping, nil, make([]byte, keyring.CodeSize) }, want: ErrBody},
		{name: "entries", change: func(m *Message) { m.Entries = Entry{Client: testClient, Incarnation: 1, Mark: 0}.AppendTo(nil) }, want: ErrBody},
		{name: "too long", bytes: func(b []byte) []byte { return append(b, 0) }, want: ErrBody},
		{name: "many entries", bytes: func(b []byte) []byte { b[83] = 0x10; return b }, want: ErrBody},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := sample()
			if tt.change != nil {
				tt.change(&m)
			}
			b := m.AppendTo(nil)
			if tt.bytes != nil {
				b = tt.bytes(b)
			}
			if _, err := ParseMessage(b); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	if (&Message{Name: make([]byte, MaxName), Token: make([]byte, TokenSize), Entries: make([]byte, MaxEntries*EntrySize)}).size() != MaxMessage {
		t.Error("MaxMessage is not the largest")
	}
}

func (m *Message) size() int { return len(m.AppendTo(nil)) }

func exception(index uint16, code Code, incarnation uint64, epoch uint32, master string) Exception {
	return Exception{Index: index, Code: code, Incarnation: incarnation, Epoch: epoch, Master: nid.MustParse(master)}
}

// TestEvictionBytes: CH-A10: an entry has at most 32 bytes, and a full batch fits into one
// collective message.
func TestEvictionBytes(t *testing.T) {
	spec.Covers(t, "CH-A10")
	if EntrySize > 32 || BatchHeaderSize+MaxBatch*EntrySize+192 > 4096 {
		t.Errorf("%d entries of %d bytes", MaxBatch, EntrySize)
	}
	batch := Batch{Incarnation: 0x51, Entries: Entry{Client: testClient, Incarnation: 0x61, Mark: uint8(Rebooted), Epoch: 0x030201}.AppendTo(nil)}
	b := batch.AppendTo(nil)
	want := "48455642" + "01" + "00" + "0100" + "5100000000000000" + "c1000000000000000000000000000001" + "6100000000000000" + "01010203"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("got %s", got)
	}
	if got, err := ParseBatch(b); err != nil || got.Incarnation != 0x51 || got.Entries.At(0) != (Entry{Client: testClient, Incarnation: 0x61, Mark: 1, Epoch: 0x030201}) || got.Withdraw {
		t.Errorf("%+v, %v", got, err)
	}
	batch.Withdraw = true
	b = batch.AppendTo(nil)
	if got, err := ParseBatch(b); err != nil || b[5] != 1 || !got.Withdraw {
		t.Errorf("%x: %+v, %v", b, got, err)
	}
	reply := Reply{Evicted: 2, Unknown: 3, Exceptions: []Exception{exception(7, OtherMaster, 0x71, 0x81, "10.0.0.2@tcp")}}
	b = reply.AppendTo(nil)
	want = "48455652" + "01" + "00" + "0100" + "02000000" + "03000000" + "00000000" +
		"0700" + "09" + "00" + "81000000" + "7100000000000000" + "000200000a000002000000000000000000000000"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("got %s", got)
	}
	for i := range b {
		if _, err := ParseReply(b[:i]); err == nil {
			t.Errorf("%d bytes are a reply", i)
		}
	}
}

// TestMerge: the order in which replies are merged does not matter. Of two exceptions for the
// same eviction, the one with the later incarnation, or later choice of a master, stays.
func TestMerge(t *testing.T) {
	a := Reply{Evicted: 1, Exceptions: []Exception{exception(1, OtherMaster, 5, 2, "10.0.0.2@tcp"), exception(3, OtherMaster, 5, 1, "10.0.0.2@tcp")}}
	b := Reply{Unknown: 2, Exceptions: []Exception{exception(0, Newer, 6, 0, "10.0.0.3@tcp"), exception(1, OtherMaster, 5, 3, "10.0.0.3@tcp"), exception(3, Newer, 6, 0, "10.0.0.4@tcp")}}
	want := Reply{Evicted: 1, Unknown: 2, Exceptions: []Exception{b.Exceptions[0], b.Exceptions[1], b.Exceptions[2]}}
	wire := want.AppendTo(nil)
	x, y := a.AppendTo(nil), b.AppendTo(nil)
	if got := MergeReplies(x, y); !bytes.Equal(got, wire) {
		t.Errorf("got %x", got)
	}
	if got := MergeReplies(y, x); !bytes.Equal(got, wire) {
		t.Errorf("the other way round: got %x", got)
	}
	if got := MergeReplies([]byte("?"), y); !bytes.Equal(got, y) {
		t.Errorf("with nonsense: %x", got)
	}
	if got, err := ParseReply(MergeReplies(nil, nil)); err != nil || len(got.Exceptions) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzMessage(f *testing.F) {
	m := sample()
	f.Add(m.AppendTo(nil))
	for _, m := range []Message{
		{Kind: Connect, Client: testClient, Server: sample().Server, Retry: (1<<32 - 1) * time.Millisecond, ServerIncarnation: 1<<64 - 1},
		{Kind: Reject, Code: OtherTimes, Client: testClient, Epoch: 1<<32 - 1},
		{Kind: Connect, Client: testClient, Server: sample().Server, Name: []byte("host"), Proof: make([]byte, keyring.CodeSize)},
	} {
		f.Add(m.AppendTo(nil))
	}
	for _, kind := range []Kind{Digest, TombstonesReply} {
		m = Message{Kind: kind, Entries: Entry{Client: testClient, Incarnation: 1, Mark: 1}.AppendTo(nil)}
		f.Add(m.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseMessage(b)
		if err != nil {
			return
		}
		again, err := ParseMessage(m.AppendTo(nil))
		if err != nil || again.Kind != m.Kind || !bytes.Equal(again.Name, m.Name) || again.Server != m.Server {
			t.Fatalf("%+v is %+v after a round trip, %v", m, again, err)
		}
	})
}

func FuzzEviction(f *testing.F) {
	f.Add((&Batch{Entries: Entry{Client: testClient, Incarnation: 1, Mark: 0}.AppendTo(nil)}).AppendTo(nil))
	f.Add((&Reply{Exceptions: []Exception{exception(1, OtherMaster, 5, 2, "10.0.0.2@tcp")}}).AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := ParseBatch(b); err == nil {
			if again, err := ParseBatch(r.AppendTo(nil)); err != nil || !bytes.Equal(again.Entries, r.Entries) {
				t.Fatal(again, err)
			}
		}
		r, err := ParseReply(b)
		if err != nil {
			return
		}
		if again, err := ParseReply(r.AppendTo(nil)); err != nil || len(again.Exceptions) != len(r.Exceptions) {
			t.Fatal(again, err)
		}
		if merged := MergeReplies(b, b); len(merged) > maxReply {
			t.Fatalf("%d bytes", len(merged))
		}
	})
}

// TestClientID checks the text form of an id, and which texts are refused.
func TestClientID(t *testing.T) {
	id, err := ParseClientID(testClient.String())
	if err != nil || id != testClient {
		t.Errorf("%v, %v", id, err)
	}
	for _, s := range []string{"", "00", strings.Repeat("0", 32), strings.Repeat("g", 32), strings.Repeat("1", 34)} {
		if _, err := ParseClientID(s); !errors.Is(err, ErrClientID) {
			t.Errorf("%q: %v", s, err)
		}
	}
	var c Code
	var why Cause
	if c.UnmarshalText([]byte("other-master")) != nil || c != OtherMaster || c.UnmarshalText([]byte("x")) == nil {
		t.Error(c)
	}
	if why.UnmarshalText([]byte("by-admin")) != nil || why != ByAdmin || Code(99).String() != "?99?" {
		t.Error(why)
	}
}
