package o2iblnd

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"ulnet/lnd/capture"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// FuzzExchange: whatever a peer sends after the handshake, the machine neither panics nor
// breaks its own rules, and everything that was under way ends once.
func FuzzExchange(f *testing.F) {
	seed := func(msgs ...kib.Msg) {
		var all []byte
		for _, m := range msgs {
			m.Version, m.SrcNID, m.DstNID, m.SrcStamp, m.DstStamp = kib.V2, nid.MustParse("10.0.0.2@o2ib"), nid.MustParse("10.0.0.1@o2ib"), 2, 1
			b, err := m.AppendBinary(nil)
			if err != nil {
				f.Fatal(err)
			}
			all = append(append(all, byte(len(b)>>8), byte(len(b))), b...)
		}
		f.Add(all)
	}
	var put wire.Header
	put.SetPut(wire.PutCmd{AckMD: wire.NoHandle()})
	put.PayloadLength = 5000
	small := put
	small.PayloadLength = 3
	desc, _ := kib.MakeDesc(nil, 1, kib.Frag{Length: 2000}, kib.Frag{Length: 3000})
	seed(kib.Msg{Header: kib.Header{Type: kib.Noop}})
	seed(kib.Msg{Header: kib.Header{Type: kib.Immediate}, LNet: small, Payload: []byte("abc")})
	seed(kib.Msg{Header: kib.Header{Type: kib.PutReq}, LNet: put, Cookie: 9},
		kib.Msg{Header: kib.Header{Type: kib.PutDone}, Cookie: 1002, Status: 5000})
	seed(kib.Msg{Header: kib.Header{Type: kib.PutAck}, Cookie: 1000, DstCookie: 3, Desc: desc})
	seed(kib.Msg{Header: kib.Header{Type: kib.PutNak, Credits: 1}, Cookie: 1000})
	seed(kib.Msg{Header: kib.Header{Type: kib.GetDone}, Cookie: 1001, Status: 4000},
		kib.Msg{Header: kib.Header{Type: kib.GetReq}, LNet: getHeader(), Cookie: 4, Desc: desc})
	for _, b := range capturedMessages(f) {
		f.Add(append([]byte{byte(len(b) >> 8), byte(len(b))}, b...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := newPair(t)
		a := p.ends[0]
		a.send(wire.Put, 5000, 2, 1, false)
		a.send(wire.Get, 4000, 0, 3, false)
		a.send(wire.Put, 100, 1, 1, true)
		for len(b) >= 2 && a.x.failed == nil {
			n := int(b[0])<<8 | int(b[1])
			b = b[2:]
			n = min(n, len(b), kib.MaxMsgSize)
			a.arrive(b[:n:n])
			b = b[n:]
			a.answer(n, 0)
			a.flushAll(n%2 == 0)
		}
		a.step(exchangeIn{kind: exchangeClose, err: newError(PeerClosed, lustre(a.x.cfg.peer), nil)})
		a.flushAll(true)
		if !a.x.idle() {
			t.Errorf("%d under way after the end", a.x.active)
		}
	})
}

// capturedMessages returns the messages of both sides of the recordings. Their NIDs and incarnation
// stamps are replaced by those of a pair's ends.
func capturedMessages(t testing.TB) (list [][]byte) {
	t.Helper()
	files, err := filepath.Glob("../capture/testdata/o2ib-*.pcap")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	magic := binary.LittleEndian.AppendUint32(nil, kib.Magic)
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := capture.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		for p, err := r.Next(); err == nil; p, err = r.Next() {
			at := bytes.Index(p.Data, magic)
			if at < 0 {
				continue
			}
			b := bytes.Clone(p.Data[at : len(p.Data)-4]) // the message without the ICRC of the packet
			h, err := kib.ParseHeader(b)
			if err != nil {
				continue // the packet holds a reject, not a message
			}
			b = b[:h.Nob]
			binary.LittleEndian.PutUint64(b[16:], nid.MustParse("10.0.0.2@o2ib").Value4())
			binary.LittleEndian.PutUint64(b[24:], 2)
			binary.LittleEndian.PutUint64(b[32:], nid.MustParse("10.0.0.1@o2ib").Value4())
			binary.LittleEndian.PutUint64(b[40:], 1)
			list = append(list, b)
		}
	}
	return list
}

// flushAll completes all posted work requests, as if the other end were gone. If the parameter all is false
// it does nothing.
func (e *end) flushAll(all bool) {
	for len(e.wire) > 0 && all {
		if it := e.wire[0]; it.signaled {
			e.completes = append(e.completes, it.id)
		}
		e.wire = e.wire[1:]
		for e.complete() {
		}
	}
}
