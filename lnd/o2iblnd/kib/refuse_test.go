package kib

import (
	"bytes"
	"errors"
	"testing"

	"ulnet/lnet/nid"
)

// TestRefused: a message that breaks one rule of validation is refused with the error of that rule. The
// rules are in the order of o2iblnd-wire.
func TestRefused(t *testing.T) {
	const (
		immediate = "911be90b 1200 d1 00 7d000000 00000000" + ends12 + nids12 + "01000000 05000000" + putBody + "68656c6c6f"
		putAck    = "911be90b 1200 d4 00 54000000 00000000" + ends12 + "8877665544332211 0900000000000000 a8220000 01000000 00001000 00e03996bbc41cff"
	)
	tests := []struct {
		name, hex string
		at        int
		change    []byte
		err       error
	}{
		{"magic", immediate, 0, []byte{0}, ErrMagic},
		{"magic of a future protocol", immediate, 0, []byte{0x63, 0x69, 0x72, 0x45}, errUnifiedMagic},
		{"magic of a future protocol, swapped", immediate, 0, []byte{0x45, 0x72, 0x69, 0x63}, errUnifiedMagic},
		{"version 3", immediate, 4, []byte{0x13}, ErrVersion},
		{"version in another byte order", immediate, 4, []byte{0, 0x12}, ErrVersion},
		{"claims one byte more", immediate, 8, []byte{0x7e}, errNob},
		{"claims 4 GiB", immediate, 8, []byte{0xff, 0xff, 0xff, 0xff}, errNob},
		{"from the wildcard", immediate, 16, bytes.Repeat([]byte{0xff}, 8), errSrcNID},
		{"unknown type", immediate, 6, []byte{0xd8}, ErrType},
		{"type 0", immediate, 6, []byte{0}, ErrType},
		{"short for its type", immediate, 8, []byte{119}, errNobType},
		{"short of a header", immediate, 8, []byte{47}, errNobType},
		{"descriptor without fragment", putAck, 68, []byte{0}, errFrags},
		{"258 fragments", putAck, 68, []byte{2, 1}, errFrags},
		{"4 G fragments", putAck, 68, []byte{0xff, 0xff, 0xff, 0xff}, errFrags},
		{"a fragment that is not there", putAck, 68, []byte{2}, errDesc},
		{"257 fragments that are not there", putAck, 68, []byte{1, 1}, errDesc},
		{"payload that is not there", immediate, 48 + 28, []byte{6}, errPayload},
		{"4 GiB of payload", immediate, 48 + 28, []byte{0xff, 0xff, 0xff, 0xff}, errPayload},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.hex)
			if _, err := ParseMsg(b); err != nil {
				t.Fatalf("unchanged: %v", err)
			}
			copy(b[tt.at:], tt.change)
			if _, err := ParseMsg(b); !errors.Is(err, tt.err) {
				t.Errorf("%v, want %v", err, tt.err)
			}
		})
	}
	if !errors.Is(errUnifiedMagic, ErrMagic) {
		t.Error("the future magic is no bad magic")
	}
}

// TestPayloadBehindNob: ParseMsg accepts a payload that lies behind the length Nob of the message,
// if all its bytes have arrived.
func TestPayloadBehindNob(t *testing.T) {
	b := unhex(t, "911be90b 1200 d1 00 78000000 00000000"+ends12+nids12+"01000000 05000000"+putBody+"68656c6c6f")
	if m, err := ParseMsg(b); err != nil || string(m.Payload) != "hello" {
		t.Errorf("%q, %v", m.Payload, err)
	}
}

// TestMostFrags: a GET_REQ with MaxFrags fragments, the most that it may have, is encoded and parsed in
// both byte orders.
func TestMostFrags(t *testing.T) {
	frags := make([]Frag, MaxFrags)
	for i := range frags {
		frags[i] = Frag{uint32(i) * 0x01010101, uint64(i) << 40}
	}
	for _, big := range []bool{false, true} {
		m := Msg{Header: between(GetReq, 0), LNet: get(1 << 20), Cookie: 1, Desc: desc(t, false, 5, frags...)}
		m.BigEndian = big
		b, err := m.AppendBinary(nil)
		if err != nil || len(b) != 3220 {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		got, err := ParseMsg(b)
		if err != nil || got.Desc.Len() != MaxFrags {
			t.Fatalf("%d fragments, %v", got.Desc.Len(), err)
		}
		total := uint64(0)
		for i, want := range frags {
			total += uint64(want.Length)
			if got.Desc.Frag(i) != want {
				t.Fatalf("fragment %d: %+v, want %+v", i, got.Desc.Frag(i), want)
			}
		}
		if got.Desc.Total() != total {
			t.Errorf("%d bytes, want %d", got.Desc.Total(), total)
		}
	}
	if _, err := MakeDesc(nil, 5, append(frags, Frag{})...); err != errFrags {
		t.Errorf("258 fragments: %v", err)
	}
	if _, err := MakeDesc(nil, 5); err != errFrags {
		t.Errorf("no fragment: %v", err)
	}
}

func TestAppendRefused(t *testing.T) {
	large := nid.MustParse("fd88::2@tcp")
	tests := []struct {
		name string
		msg  Msg
		err  error
	}{
		{"unknown type", Msg{Header: between(0, 0)}, ErrType},
		{"no descriptor", Msg{Header: between(PutAck, 0)}, errFrags},
		{"one byte more than fits", Msg{Header: between(Immediate, 0), LNet: put(0), Payload: make([]byte, MaxImmediate+1)}, ErrTooLong},
		{"large source", Msg{Header: Header{Version: V2, Type: Noop, SrcNID: large, DstNID: node2}}, ErrLargeNID},
		{"large destination", Msg{Header: Header{Version: V2, Type: Noop, SrcNID: node1, DstNID: large}}, ErrLargeNID},
	}
	inside := Msg{Header: between(PutReq, 0), LNet: put(0)}
	inside.LNet.DestNID = large
	tests = append(tests, struct {
		name string
		msg  Msg
		err  error
	}{"large NID inside", inside, ErrLargeNID})
	for _, tt := range tests {
		if b, err := tt.msg.AppendBinary([]byte("before")); err != tt.err || string(b) != "before" {
			t.Errorf("%s: %q, %v, want %v", tt.name, b, err, tt.err)
		}
	}
	fits := Msg{Header: between(Immediate, 0), LNet: put(MaxImmediate), Payload: make([]byte, MaxImmediate)}
	if b, err := fits.AppendBinary(nil); err != nil || len(b) != MaxMsgSize || MaxImmediate != 3976 {
		t.Errorf("largest IMMEDIATE: %d bytes, %v", len(b), err)
	}
}

func TestCheckConn(t *testing.T) {
	h := between(Noop, 48)
	tests := []struct {
		peer, local           nid.NID
		peerStamp, localStamp uint64
		err                   error
	}{
		{node1, node2, stamp1, stamp2, nil},
		{node2, node2, stamp1, stamp2, errStaleSrcNID},
		{node1, node1, stamp1, stamp2, errStaleDstNID},
		{node1, node2, stamp2, stamp2, errStaleSrcStamp},
		{node1, node2, stamp1, 0, errStaleDstStamp},
	}
	for _, tt := range tests {
		err := h.CheckConn(tt.peer, tt.peerStamp, tt.local, tt.localStamp)
		if err != tt.err || err != nil && !errors.Is(err, errStale) {
			t.Errorf("%v, want %v", err, tt.err)
		}
	}
}
