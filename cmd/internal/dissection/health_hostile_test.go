package dissection

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	healthwire "ulnet/health/wire"
	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// sample is a message with a value in each field that its kind uses.
func sample(kind healthwire.Kind) healthwire.Message {
	m := healthwire.Message{Kind: kind, Client: healthwire.ClientIDOf("sample"), Incarnation: 7, ServerIncarnation: 1 << 63, Sequence: 3, Epoch: 2}
	m.Server = nid.MustParse("10.0.0.1@tcp")
	switch kind {
	case healthwire.Connect:
		m.Name, m.Token = []byte("compute-17"), make([]byte, healthwire.TokenSize)
	case healthwire.Digest, healthwire.DigestReply, healthwire.TombstonesReply, healthwire.Tombstones:
		m.Client, m.Incarnation = healthwire.ClientID{}, 0
		m.Entries = healthwire.Entry{Client: healthwire.ClientIDOf("a"), Incarnation: 1}.AppendTo(nil)
		m.Entries = healthwire.Entry{Client: healthwire.ClientIDOf("b"), Incarnation: 2, Mark: 1}.AppendTo(m.Entries)
	case healthwire.Reject:
		m.Code, m.Retry = healthwire.Busy, 1500e6
	}
	return m
}

// healthPut returns the PUT command of a message to a portal of client health.
func healthPut(portal uint32) wire.PutCmd {
	return wire.PutCmd{MatchBits: healthwire.Bits, Portal: portal}
}

// TestHealthKinds: each kind of message has its own text.
func TestHealthKinds(t *testing.T) {
	id := healthwire.ClientIDOf("sample").String()
	for _, c := range []struct {
		kind         healthwire.Kind
		portal       uint32
		line, detail string
	}{
		{healthwire.Connect, 57, "health connect, client " + id + ` "compute-17" incarnation 7, epoch 2, master 10.0.0.1@tcp`, "token 00000000…"},
		{healthwire.Accept, 58, "health accept ok, client " + id + " incarnation 7, epoch 2, previous master 10.0.0.1@tcp", "previous master 10.0.0.1@tcp"},
		{healthwire.Reject, 58, "health reject busy, client " + id + " incarnation 7, epoch 2, master 10.0.0.1@tcp, come back after 1.5s", "retry after 1.5s"},
		{healthwire.Ping, 57, "health ping, client " + id + " incarnation 7, epoch 2, master 10.0.0.1@tcp", "sequence 3"},
		{healthwire.Pong, 58, "health pong ok, client " + id + " incarnation 7, epoch 2, master 10.0.0.1@tcp", "server's incarnation 9223372036854775808"},
		{healthwire.Choose, 57, "health choose, client " + id + " incarnation 7, epoch 2, new master 10.0.0.1@tcp", "new master"},
		{healthwire.Chosen, 58, "health chosen ok, client " + id + " incarnation 7, epoch 2, master 10.0.0.1@tcp", "code 0 (ok)"},
		{healthwire.Disconnect, 57, "health disconnect ok, client " + id + " incarnation 7, epoch 2, master 10.0.0.1@tcp", "disconnect"},
		{healthwire.Notice, 58, "health notice ok, client " + id + " incarnation 7, epoch 2, master 10.0.0.1@tcp", "notice"},
		{healthwire.Digest, 57, "health digest, clients: 2, to confirm: 1, load 2", "1: client " + healthwire.ClientIDOf("b").String() + ", incarnation 2, to confirm"},
		{healthwire.DigestReply, 57, "health digest-reply, clients: 2, known: 1, load 2", "0: client " + healthwire.ClientIDOf("a").String() + ", incarnation 1, unknown"},
		{healthwire.TombstonesReply, 57, "health tombstones-reply, clients: 2, message 1 of 2", "1: client " + healthwire.ClientIDOf("b").String() + ", incarnation 2, 1/255 of its time left"},
	} {
		m := sample(c.kind)
		data := m.AppendTo(nil)
		is, err := readHealth(healthPut(c.portal), data)
		if err != nil {
			t.Errorf("%v: %v", c.kind, err)
			continue
		}
		if got := is.Summary(); got != c.line {
			t.Errorf("%v: %s\nwant %s", c.kind, got, c.line)
		}
		if got := strings.Join(is.Details(), "\n"); !strings.Contains(got, c.detail) {
			t.Errorf("%v: %s\nwant %s", c.kind, got, c.detail)
		}
		if is, _ := readHealth(healthPut(57+58-c.portal), data); !strings.Contains(is.Summary(), "odd: a "+c.kind.String()+" belongs to portal") {
			t.Errorf("%v at the wrong portal: %s", c.kind, is.Summary())
		}
	}
}

// TestHealthHostile: a payload that is not a message is shown as bytes. A message whose fields
// contradict each other is shown with remarks.
func TestHealthHostile(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   healthwire.Kind
		spoil  func(b []byte) []byte
		is     bool
		err    error
		wanted string // text that the summary must contain
	}{
		{"nothing", healthwire.Ping, func([]byte) []byte { return nil }, false, healthwire.ErrShort, ""},
		{"half a header", healthwire.Ping, func(b []byte) []byte { return b[:50] }, false, healthwire.ErrShort, ""},
		{"no health", healthwire.Ping, func(b []byte) []byte { b[0]++; return b }, false, healthwire.ErrMagic, ""},
		{"another version", healthwire.Ping, func(b []byte) []byte { b[4]++; return b }, false, healthwire.ErrVersion, ""},
		{"unknown kind", healthwire.Ping, func(b []byte) []byte { b[5] = 200; return b }, true, healthwire.ErrKind, "?200?"},
		{"unknown code", healthwire.Pong, func(b []byte) []byte { b[7] = 9; return b }, true, healthwire.ErrCode, "?2304?"},
		{"no client", healthwire.Ping, func(b []byte) []byte { clear(b[8:24]); return b }, true, healthwire.ErrClient, "health ping"},
		{"no server", healthwire.Connect, func(b []byte) []byte { clear(b[56:76]); return b }, true, healthwire.ErrServer, "health connect"},
		{"half a NID", healthwire.Pong, func(b []byte) []byte { b[56] = 99; return b }, true, healthwire.ErrServer, "health pong"},
		{"a name of 65535", healthwire.Connect, func(b []byte) []byte { b[76], b[77] = 255, 255; return b }, true, healthwire.ErrName, "health connect"},
		{"a name for a terminal", healthwire.Connect, func(b []byte) []byte { b[84] = 27; return b }, true, healthwire.ErrName, `"\x1bompute-17"`},
		{"half a token", healthwire.Connect, func(b []byte) []byte { b[78] = 16; return b[:len(b)-16] }, true, healthwire.ErrBody, "health connect"},
		{"2^32 entries", healthwire.Digest, func(b []byte) []byte { b[80], b[81], b[82], b[83] = 255, 255, 255, 255; return b }, true, healthwire.ErrBody, "clients: 0"},
		{"a name and no use for it", healthwire.Ping, func(b []byte) []byte { b[76] = 2; return append(b, "me"...) }, true, healthwire.ErrBody, `"me"`},
	} {
		m := sample(c.kind)
		is, err := readHealth(healthPut(m57or58(c.kind)), c.spoil(m.AppendTo(nil)))
		if (is != nil) != c.is || !errors.Is(err, c.err) || is != nil && !strings.Contains(is.Summary(), c.wanted) {
			t.Errorf("%s: %v, %v, want %v, %s", c.name, is, err, c.err, c.wanted)
		}
	}
	m := sample(healthwire.Ping)
	is, err := readHealth(wire.PutCmd{MatchBits: 7, Portal: healthwire.ServerPortal}, m.AppendTo(nil))
	if err != nil || !strings.Contains(is.Summary(), "odd: match bits 0x7, not 0x6865617468000001") {
		t.Errorf("%v, %v", is, err)
	}
}

func m57or58(kind healthwire.Kind) uint32 {
	return (&healthMessage{Message: healthwire.Message{Kind: kind}}).portal()
}

// TestHealthCut: of a truncated message the header is shown.
func TestHealthCut(t *testing.T) {
	m := sample(healthwire.Connect)
	r := capture.Record{Kind: capture.Message, Payload: m.AppendTo(nil), Missing: 1}
	r.Header.Type = wire.Put
	r.Header.SetPut(healthPut(healthwire.ServerPortal))
	r.Header.PayloadLength = uint32(len(r.Payload))
	r.Payload = r.Payload[:len(r.Payload)-1]
	said := NewProtocols(nil).Read(&r).said
	if said.Protocol != "health" || said.Err != capture.ErrPartOfPayload || said.Is == nil || !strings.Contains(said.Is.Summary(), "health connect") {
		t.Errorf("%+v", said)
	}
}

// FuzzHealth: any input can be shown, and the size of the output is bounded by the message.
func FuzzHealth(f *testing.F) {
	for kind := healthwire.Connect; kind <= healthwire.TombstonesReply; kind++ {
		m := sample(kind)
		f.Add(kind%2 == 0, string(m.AppendTo(nil)))
	}
	f.Fuzz(func(t *testing.T, toServer bool, data string) {
		put := healthPut(healthwire.ClientPortal)
		if toServer {
			put.Portal = healthwire.ServerPortal
		}
		is, err := readHealth(put, []byte(data))
		if is == nil {
			if err == nil {
				t.Error("nothing, without an error")
			}
			return
		}
		text, err := json.Marshal(is)
		size := len(is.Summary()) + len(strings.Join(is.Details(), "\n")) + len(text)
		if err != nil || size > 2000+40*len(data) {
			t.Errorf("%d bytes become %d: %v", len(data), size, err)
		}
	})
}
