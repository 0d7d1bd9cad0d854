package dissection

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
	selftestwire "ulnet/lnet/selftest/wire"
	"ulnet/lnet/wire"
)

var (
	consoleNID = nid.MustParse("10.0.0.1@tcp")
	nodeNID    = nid.MustParse("10.0.0.2@tcp")
	otherNID   = nid.MustParse("10.0.0.3@tcp")
)

// selftestPut returns a PUT as a capture has it.
func selftestPut(src, dest nid.NID, portal uint32, bits uint64, payload []byte) *capture.Record {
	r := &capture.Record{Kind: capture.Message, Conn: &capture.Conn{}, Payload: payload}
	r.Header = wire.Header{SrcNID: src, DestNID: dest, PayloadLength: uint32(len(payload))}
	r.Header.SetPut(wire.PutCmd{MatchBits: bits, Portal: portal, AckMD: wire.NoHandle()})
	return r
}

// selftestMessage encodes a message with the reply id 7.
func selftestMessage(t testing.TB, features selftestwire.Features, body selftestwire.Body) []byte {
	t.Helper()
	m := selftestwire.Message{Header: selftestwire.Header{Features: features}, ReplyID: 7, Body: body}
	b, err := m.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// selftestRequests are wrong requests of the console to a node, by the text that describes the error.
func selftestRequests(t testing.TB) map[string]*capture.Record {
	test := &selftestwire.Test{BulkID: 9, Service: selftestwire.BRWService, Client: true, Destinations: 342}
	test.BRW = selftestwire.BRWParams{Op: selftestwire.Read, Check: selftestwire.CheckNone, Length: 4096, Offset: 12}
	beyond := &selftestwire.Test{BulkID: 9, Service: selftestwire.BRWService, Client: true, Destinations: 1}
	beyond.BRW = selftestwire.BRWParams{Op: selftestwire.Read, Check: selftestwire.CheckNone, Length: 12 << 10, Offset: 4096 + 8}
	brw := &selftestwire.BRW{BulkID: 8, Op: selftestwire.Write, Length: 4097, Check: selftestwire.CheckFull}
	put := func(portal uint32, bits uint64, features selftestwire.Features, body selftestwire.Body) *capture.Record {
		return selftestPut(consoleNID, nodeNID, portal, bits, selftestMessage(t, features, body))
	}
	return map[string]*capture.Record{
		"match bits 0x5 are for another service":                       put(51, 5, 1, &selftestwire.Debug{}),
		"match bits 0x100000000 are for another service":               put(51, 1<<32, 1, &selftestwire.Debug{}),
		"requests for service debug belong to portal 51":               put(50, 0, 1, &selftestwire.Debug{}),
		"unknown features 0x4":                                         put(51, 0, 5, &selftestwire.Debug{}),
		"4097 bytes, which is no multiple of 8, crash a kernel server": put(50, 11, 1, brw),
		"12288 bytes at offset 8 of a page crash a kernel client":      put(51, 4, 1, beyond),
		"a kernel server may crash when it refuses this":               put(50, 11, 1, &selftestwire.BRW{BulkID: 8, Op: 3, Length: 4096, Check: selftestwire.CheckFull}),
		"12 bytes, which is no multiple of 8, crash a kernel server":   put(51, 4, 1, test),
		"the end of a list of 342 destinations is not sent":            put(51, 4, 1, test),
		"selftest: a message must have 160 bytes":                      selftestPut(consoleNID, nodeNID, 51, 0, make([]byte, 159)),
		"selftest: the magic is not that of selftest":                  selftestPut(consoleNID, nodeNID, 51, 0, make([]byte, 160)),
	}
}

// TestSelftestOdd: requests that a kernel node cannot handle get a remark, and payloads that are not
// messages are errors.
func TestSelftestOdd(t *testing.T) {
	for want, r := range selftestRequests(t) {
		p, ok := newSelftests().read(r)
		text := ""
		if p.Is != nil {
			text = p.Is.Summary()
		}
		if p.Err != nil {
			text += p.Err.Error()
		}
		if !ok || !strings.Contains(text, want) {
			t.Errorf("want %q, got %q", want, text)
		}
	}
}

// TestSelftestPairs: a reply or bulk data that do not fit their request are marked.
func TestSelftestPairs(t *testing.T) {
	request := selftestPut(consoleNID, nodeNID, 50, 11, selftestMessage(t, 1, &selftestwire.BRW{BulkID: 8, Op: selftestwire.Read, Length: 16, Check: selftestwire.CheckNone}))
	request.Time = time.Unix(100, 0)
	reply := selftestPut(nodeNID, consoleNID, 52, 7, selftestMessage(t, 1, &selftestwire.BRWReply{}))
	reply.Time = request.Time.Add(1500 * time.Microsecond)
	get := selftestPut(nodeNID, consoleNID, 52, 8, nil)
	get.Header.SetGet(wire.GetCmd{MatchBits: 8, Portal: 52, SinkLength: 24, ReturnMD: wire.MDHandle{Object: 3}})
	known := newSelftests()
	for _, step := range []struct {
		r    *capture.Record
		want string
	}{
		{reply, "selftest brw reply to rpc 0x7, which is not in this capture: ok"},
		{selftestPut(nodeNID, consoleNID, 52, 8, make([]byte, 16)), "selftest bulk data 0x8 of an RPC that is not in this capture: 16 bytes"},
		{request, "selftest brw, rpc 0x7, read of 16 bytes, check none"},
		{selftestPut(nodeNID, consoleNID, 52, 8, make([]byte, 16)), "selftest bulk data of brw, rpc 0x7: 16 bytes"},
		{selftestPut(nodeNID, consoleNID, 52, 8, make([]byte, 15)), "selftest bulk data of brw, rpc 0x7: 15 bytes; odd: 15 bytes, the request has 16"},
		{selftestPut(otherNID, consoleNID, 52, 8, make([]byte, 16)), "selftest bulk data of brw, rpc 0x7: 16 bytes; odd: the request went to 10.0.0.2@tcp"},
		{get, "selftest fetches bulk data of brw, rpc 0x7, 24 bytes; odd: these data belong into a PUT; odd: 24 bytes, the request has 16"},
		{reply, "selftest brw reply to rpc 0x7 after 1.5ms: ok"},
		{reply, "selftest brw reply to rpc 0x7 after 1.5ms: ok; odd: the request has a reply already"},
		{
			selftestPut(otherNID, consoleNID, 52, 7, selftestMessage(t, 1, &selftestwire.TestReply{Session: selftestwire.NoSession()})),
			"; odd: the request went to 10.0.0.2@tcp; odd: the request was a brw; odd: the request has a reply already",
		},
	} {
		p, ok := known.read(step.r)
		if !ok || p.Err != nil || !strings.HasSuffix(p.Is.Summary(), step.want) {
			t.Errorf("want %q, got %v, %v", step.want, p.Is.Summary(), p.Err)
		}
	}
}

// TestSelftestDestinations: the list of a test client is shown with the REPLY to its fetch.
func TestSelftestDestinations(t *testing.T) {
	known := newSelftests()
	test := &selftestwire.Test{BulkID: 9, Service: selftestwire.PingService, Client: true, Destinations: 2}
	known.read(selftestPut(consoleNID, nodeNID, 51, 4, selftestMessage(t, 1, test)))
	get := selftestPut(nodeNID, consoleNID, 52, 9, nil)
	get.Header.SetGet(wire.GetCmd{MatchBits: 9, Portal: 52, SinkLength: 24, ReturnMD: wire.MDHandle{Object: 3}})
	if p, _ := known.read(get); p.Is.Summary() != "selftest fetches destinations of test, rpc 0x7, 24 bytes" {
		t.Error(p.Is.Summary())
	}
	list, err := selftestwire.AppendDestinations(nil, []selftestwire.Destination{{NID: nodeNID, PID: 12345}, {NID: otherNID, PID: 12345}}, false)
	if err != nil {
		t.Fatal(err)
	}
	reply := selftestPut(consoleNID, nodeNID, 0, 0, list)
	reply.Header.SetReply(wire.ReplyCmd{DstMD: wire.MDHandle{Object: 3}})
	p, ok := known.read(reply)
	if want := "selftest destinations of test, rpc 0x7: 2 NIDs from 10.0.0.2@tcp"; !ok || p.Err != nil || p.Is.Summary() != want {
		t.Errorf("%+v", p)
	}
	if text, err := json.Marshal(p.Is); err != nil || !strings.Contains(string(text), `"destinations":["12345-10.0.0.2@tcp","12345-10.0.0.3@tcp"]`) {
		t.Errorf("%s, %v", text, err)
	}
	reply.Missing = 1
	if p, _ := known.read(reply); p.Err != capture.ErrPartOfPayload {
		t.Errorf("a part: %v", p.Err)
	}
}

// FuzzSelftest: any payload can be shown, and the size of the output is bounded.
func FuzzSelftest(f *testing.F) {
	for _, r := range selftestRequests(f) {
		f.Add(r.Payload)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		known := newSelftests()
		for _, portal := range []uint32{51, 50, 52} {
			p, ok := known.read(selftestPut(consoleNID, nodeNID, portal, 11, data))
			if !ok || p.Is == nil && p.Err == nil {
				t.Fatalf("portal %d: nothing", portal)
			}
			if p.Is == nil {
				continue
			}
			text, err := json.Marshal(p.Is)
			if size := len(p.Is.Summary()) + len(strings.Join(p.Is.Details(), "\n")) + len(text); err != nil || size > 4000 {
				t.Errorf("%d bytes become %d: %v", len(data), size, err)
			}
		}
	})
}
