package replay

import (
	"net"
	"testing"

	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/spec"
	selftest "ulnet/lnet/selftest/wire"
	"ulnet/lnet/wire"
)

// rpcRecord returns a PUT of lnet_selftest.
func rpcRecord(t *testing.T, portal uint32, bits uint64, payload []byte, m *selftest.Message) *capture.Record {
	t.Helper()
	r := &capture.Record{Kind: capture.Message, Payload: payload}
	if m != nil {
		var err error
		if r.Payload, err = m.AppendBinary(nil); err != nil {
			t.Fatal(err)
		}
	}
	r.Header.Type, r.Header.PayloadLength = wire.Put, uint32(len(r.Payload))
	r.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: bits, Portal: portal})
	var err error
	if r.Raw, err = r.AppendBinary(nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSwappedRPC: on one connection, messages of a server may leave in another order than recorded
// if they belong to different RPCs. A reply before the bulk data of its own RPC is refused.
func TestSwappedRPC(t *testing.T) {
	spec.Covers(t, "ST-21")
	p := &Player{early: map[int]bool{}}
	for id := uint64(1); id <= 3; id += 2 { // requests 1 and 3, whose bulk data have the numbers 2 and 4
		m := selftest.Message{ReplyID: id, Body: &selftest.BRW{BulkID: id + 1, Op: selftest.Read, Length: 8, Check: selftest.CheckFull}}
		m.Type = selftest.TypeBRW
		p.Substitute(rpcRecord(t, selftest.TestPortal, uint64(selftest.BRWService), nil, &m))
		reply := selftest.Message{Body: &selftest.BRWReply{}}
		reply.Type = selftest.TypeBRW.Reply()
		for _, r := range []*capture.Record{
			rpcRecord(t, selftest.BulkPortal, id+1, []byte{byte(id), 1, 2, 3, 4, 5, 6, 7}, nil),
			rpcRecord(t, selftest.BulkPortal, id, nil, &reply),
		} {
			p.events = append(p.events, Event{Kind: Data, Record: r})
		}
	}
	for _, tt := range []struct {
		name      string
		had       []int // events that the node has sent early
		next, got int   // the event that is due, and the one whose message the node sends
		ok        bool
	}{
		{"as recorded", nil, 0, 0, false},
		{"a reply before its data", nil, 0, 1, false},
		{"data of another RPC", nil, 0, 2, true},
		{"a reply before its data, behind those of another RPC", nil, 0, 3, false},
		{"a reply of another RPC after its data", []int{2}, 0, 3, true},
		{"a reply of another RPC, whose data are due", nil, 1, 3, false},
		{"data before the reply of another RPC", nil, 1, 2, true},
	} {
		clear(p.early)
		for _, i := range tt.had {
			p.early[i] = true
		}
		if other, ok := p.swappedRPC(tt.next, p.events[tt.got].Record); ok != tt.ok || ok && other != tt.got {
			t.Errorf("%s: event %d, %v", tt.name, other, ok)
		}
	}
}

// TestCommanded: a request to the framework waits for the console of the node, except while a
// command of the console still needs a reply of the player.
func TestCommanded(t *testing.T) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tcp, err := net.DialTCP("tcp4", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	c, waited := newConn(tcp, Acceptor, 0), 0
	p := &Player{Script: &Script{}, Commanded: func() error { waited++; return nil }}
	request := func(id uint64) *capture.Record {
		m := selftest.Message{ReplyID: id, Body: &selftest.Debug{}}
		m.Type = selftest.TypeDebug
		return rpcRecord(t, selftest.FrameworkPortal, uint64(selftest.DebugService), nil, &m)
	}
	reply := selftest.Message{Body: &selftest.DebugReply{}}
	reply.Type = selftest.TypeDebug.Reply()
	send := func(r *capture.Record, want int) {
		t.Helper()
		if err := p.send(c, Event{Kind: Data, Record: r}); err != nil || waited != want {
			t.Errorf("the player waited %d times, want %d: %v", waited, want, err)
		}
	}
	send(request(1), 1)
	p.noteRPC(request(2), request(2)) // the node sends request 2, which has no reply yet
	send(request(3), 1)
	send(rpcRecord(t, selftest.BulkPortal, 2, nil, &reply), 1)
	send(request(4), 2)
}
