package wire_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// TestHeaderBytes checks the bytes of one request and of one reply, in both byte orders.
func TestHeaderBytes(t *testing.T) {
	spec.Covers(t, "ST-2")
	request := wire.Message{
		Header: wire.Header{Features: wire.BulkLength}, ReplyID: 0x0102030405060708,
		Body: &wire.BRW{BulkID: 0x1112131415161718, Op: wire.Write, Length: 0x100000, Check: wire.CheckFull},
	}
	reply := wire.Message{Status: wire.EBUSY, Body: &wire.MakeSessionReply{Session: wire.Session{nid.MustParse("10.77.0.10@tcp"), 598523}, Timeout: 100, Name: "s"}}
	tests := []struct {
		m    wire.Message
		big  bool
		want string
	}{
		{request, false, "0df0b0ee" + "01000000" + "0c000000" + "0000000000000000" + "01000000" + "0807060504030201" + "1817161514131211" + "02000000" + "00001000" + "03000000"},
		{request, true, "eeb0f00d" + "00000001" + "0000000c" + "0000000000000000" + "00000001" + "0102030405060708" + "1112131415161718" + "00000002" + "00100000" + "00000003"},
		{reply, false, "0df0b0ee" + "01000000" + "01000000" + "0000000000000000" + "00000000" + "10000000" + "0a004d0a00000200" + "fb21090000000000" + "64000000" + "73"},
		{reply, true, "eeb0f00d" + "00000001" + "00000001" + "0000000000000000" + "00000000" + "00000010" + "000200000a4d000a" + "00000000000921fb" + "00000064" + "73"},
	}
	for _, tt := range tests {
		tt.m.BigEndian = tt.big
		want := tt.want + strings.Repeat("00", wire.MessageSize-len(tt.want)/2)
		b := encode(t, &tt.m)
		if got := hex.EncodeToString(b); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		tt.m.Type = tt.m.Body.Type()
		if back, err := wire.ParseMessage(b); err != nil || !reflect.DeepEqual(back, tt.m) {
			t.Errorf("read as %+v, %v", back, err)
		}
	}
}

// TestRefused: bytes that are no message are refused. Of a message with another version or type the
// parser returns as much as an answer needs.
func TestRefused(t *testing.T) {
	spec.Covers(t, "ST-3")
	m := wire.Message{ReplyID: 7, Body: &wire.Debug{Session: wire.NoSession()}}
	good := encode(t, &m)
	tests := []struct {
		name   string
		change func([]byte) []byte
		want   error
		id     uint64
	}{
		{"nothing", func([]byte) []byte { return nil }, wire.ErrSize, 0},
		{"short", func(b []byte) []byte { return b[:wire.MessageSize-1] }, wire.ErrSize, 0},
		{"long", func(b []byte) []byte { return append(b, 0) }, wire.ErrSize, 0},
		{"magic", func(b []byte) []byte { b[1]++; return b }, wire.ErrMagic, 0},
		{"version", func(b []byte) []byte { b[4] = wire.Version + 1; return b }, wire.ErrVersion, 7},
		{"version, swapped", func(b []byte) []byte { b[4], b[7] = 0, 1; return b }, wire.ErrVersion, 7},
		{"type", func(b []byte) []byte { b[8] = 18; return b }, wire.ErrType, 7},
		{"large type", func(b []byte) []byte { b[11] = 0x80; return b }, wire.ErrType, 7},
	}
	for _, tt := range tests {
		back, err := wire.ParseMessage(tt.change(append([]byte(nil), good...)))
		if !errors.Is(err, tt.want) || back.ReplyID != tt.id || back.Body != nil {
			t.Errorf("%s: %+v, %v", tt.name, back, err)
		}
	}
}

// TestStaleBytes: bytes that no field uses are ignored, because kernel nodes do not clear them,
// and a name without an end is cut.
func TestStaleBytes(t *testing.T) {
	spec.Covers(t, "ST-4")
	m := wire.Message{Header: wire.Header{Type: wire.TypeMakeSession.Reply(), Features: wire.BulkLength}, Body: &wire.MakeSessionReply{Name: "ab"}}
	b := encode(t, &m)
	for i := 48 + 3; i < wire.MessageSize; i++ {
		b[i] = 'x'
	}
	if back, err := wire.ParseMessage(b); err != nil || !reflect.DeepEqual(back, m) {
		t.Errorf("%+v, %v", back.Body, err)
	}
	b[48+2] = 'c'
	want := "abc" + strings.Repeat("x", wire.MaxName-3)
	if back, err := wire.ParseMessage(b); err != nil || back.Body.(*wire.MakeSessionReply).Name != want {
		t.Errorf("%+v, %v", back.Body, err)
	}
}

// TestParametersByFeature: without the feature BulkLength the parameters of a BRW test are
// numbers of 32 bits, in another order.
func TestParametersByFeature(t *testing.T) {
	spec.Covers(t, "ST-5")
	test := &wire.Test{Service: wire.BRWService, BRW: wire.BRWParams{Op: wire.Write, Pages: 256, Check: wire.CheckSimple}}
	m := wire.Message{Body: test}
	b := encode(t, &m)
	if got := hex.EncodeToString(b[82:94]); got != "02000000"+"00010000"+"02000000" {
		t.Errorf("without: %s", got)
	}
	if back, err := wire.ParseMessage(b); err != nil || !reflect.DeepEqual(back.Body, test) {
		t.Errorf("without: %+v, %v", back.Body, err)
	}
	test.BRW = wire.BRWParams{Op: wire.Write, Check: wire.CheckSimple, Length: 1 << 20, Offset: 8}
	m.Features = wire.BulkLength
	if got := hex.EncodeToString(encode(t, &m)[82:94]); got != "0200"+"0200"+"00001000"+"08000000" {
		t.Errorf("with: %s", got)
	}
	test.BRW.Check = 1 << 16
	if b, err := m.AppendBinary([]byte("kept")); !errors.Is(err, wire.ErrRange) || string(b) != "kept" {
		t.Errorf("check %d: %q, %v", test.BRW.Check, b, err)
	}
}

// TestUnencodable: a message that has no form on the wire is refused, and nothing is appended.
func TestUnencodable(t *testing.T) {
	spec.Covers(t, "ST-6")
	six := wire.Session{Console: nid.MustParse("fd88::2@tcp")}
	for _, tt := range []struct {
		body wire.Body
		want error
	}{
		{&wire.RemoveSession{six}, wire.ErrNID},
		{&wire.MakeSession{Name: strings.Repeat("n", wire.MaxName+1)}, wire.ErrName},
		{&wire.MakeSession{Name: "a\x00b"}, wire.ErrName},
		{&wire.MakeSession{Name: strings.Repeat("n", wire.MaxName)}, nil},
	} {
		m := wire.Message{Body: tt.body}
		b, err := m.AppendBinary([]byte("kept"))
		if !errors.Is(err, tt.want) || (err != nil) != (len(b) == 4) || string(b[:4]) != "kept" {
			t.Errorf("%+v: %d bytes, %v", tt.body, len(b), err)
		}
	}
}

// TestNames: each number has its name, and one without a name is printed as a number.
func TestNames(t *testing.T) {
	statuses := []wire.Status{
		wire.OK, wire.EPERM, wire.ENOENT, wire.ESRCH, wire.EIO, 7, wire.ENOMEM, wire.EBUSY, wire.EEXIST, wire.EINVAL, wire.EPROTO, wire.EBADMSG,
	}
	for want, got := range map[string][]string{
		"ok EPERM ENOENT ESRCH EIO errno 7 ENOMEM EBUSY EEXIST EINVAL EPROTO EBADMSG": texts(statuses...),
		"stat stat reply join reply type 18":                                          texts(wire.TypeStat, wire.TypeStat.Reply(), wire.TypeJoin.Reply(), 18),
		"run stop query operation 9":                                                  texts(wire.RunBatch, wire.StopBatch, wire.QueryBatch, 9),
		"read write operation 0":                                                      texts(wire.Read, wire.Write, 0),
		"check 0 none simple full discard check 5":                                    texts(0, wire.CheckNone, wire.CheckSimple, wire.CheckFull, wire.CheckDiscard, 5),
		"none 5@10.0.0.1@tcp":                                                         texts(wire.NoSession(), wire.Session{Console: nid.MustParse("10.0.0.1@tcp"), Stamp: 5}),
	} {
		if strings.Join(got, " ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func texts[T fmt.Stringer](values ...T) (list []string) {
	for _, v := range values {
		list = append(list, v.String())
	}
	return list
}

// TestServices: the number, portal and type of each service are those of selftest §1.
func TestServices(t *testing.T) {
	spec.Covers(t, "ST-8")
	for _, tt := range []struct {
		service wire.Service
		number  uint32
		typ     wire.Type
		code    uint32
		name    string
		portal  uint32
	}{
		{wire.DebugService, 0, wire.TypeDebug, 10, "debug", wire.FrameworkPortal},
		{wire.MakeSessionService, 1, wire.TypeMakeSession, 0, "make-session", 51},
		{wire.RemoveSessionService, 2, wire.TypeRemoveSession, 2, "remove-session", 51},
		{wire.BatchService, 3, wire.TypeBatch, 4, "batch", 51},
		{wire.TestService, 4, wire.TypeTest, 8, "test", 51},
		{wire.StatService, 5, wire.TypeStat, 6, "stat", 51},
		{wire.JoinService, 6, wire.TypeJoin, 16, "join", 51},
		{wire.BRWService, 11, wire.TypeBRW, 12, "brw", wire.TestPortal},
		{wire.PingService, 12, wire.TypePing, 14, "ping", 50},
	} {
		typ, ok := tt.service.Request()
		if !ok || uint32(tt.service) != tt.number || typ != tt.typ || uint32(typ) != tt.code || tt.service.String() != tt.name || tt.service.Portal() != tt.portal {
			t.Errorf("%v: number %d, type %d, portal %d", tt.service, tt.service, typ, tt.service.Portal())
		}
	}
	for _, none := range []wire.Service{7, 10, 13, 1 << 31} {
		if _, ok := none.Request(); ok || none.String() != fmt.Sprintf("service %d", uint32(none)) {
			t.Errorf("%v is known", none)
		}
	}
}

// FuzzMessage: each message that can be parsed is encoded to bytes that mean the same.
func FuzzMessage(f *testing.F) {
	for _, file := range []string{"tcp-lst-ping.pcap", "captures2/tcp-lst-two-consoles.pcap"} {
		eachMessage(f, captureDirs[0]+"/"+file, func(_ *wire.Message, raw []byte) { f.Add(append([]byte(nil), raw...)) })
	}
	for _, l := range layouts {
		f.Add(encode(f, &wire.Message{Header: wire.Header{BigEndian: true}, Body: l.body}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := wire.ParseMessage(b)
		if err != nil {
			if m.Body != nil {
				t.Errorf("%+v with %v", m, err)
			}
			return
		}
		back, err := wire.ParseMessage(encode(t, &m))
		if err != nil || !reflect.DeepEqual(m, back) {
			t.Errorf("%+v is read again as %+v, %v", m, back, err)
		}
	})
}
