package kib_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/o2iblnd/kib"
)

// frame has those bytes of a captured packet that o2iblnd itself wrote: a message or, if the field reject is set, the
// private data of a CM rejection (REJ).
type frame struct {
	name   string
	bytes  []byte
	kernel bool // a kernel node sent the frame, so it is a reference
	reject bool
}

// captured returns the messages and rejects of the o2ib captures, those of the repository first.
// It takes packets apart by hand, because kib may not import ibta.
func captured(t testing.TB) (list []frame) {
	t.Helper()
	for _, dir := range []string{"../../capture/testdata", "../../../../shared/captures"} {
		files, err := filepath.Glob(filepath.Join(dir, "o2ib-*.pcap"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			list = append(list, readCapture(t, file)...)
		}
	}
	return list
}

func readCapture(t testing.TB, file string) (list []frame) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := capture.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for {
		p, err := r.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		const headers, icrc, srcIP = 14 + 20 + 8, 4, 14 + 12
		roce := p.Data[headers : len(p.Data)-icrc]
		fr := frame{name: filepath.Base(file), kernel: p.Data[srcIP+3] != 1}
		const bth, deth, mad = 12, 8, 24
		switch roce[0] {
		case 0x04: // opcode SEND ONLY, reliable connection
			fr.bytes = roce[bth:]
		case 0x64: // opcode SEND ONLY, unreliable datagram
			body := roce[bth+deth+mad:]
			switch roce[bth+deth+17] { // attribute of the CM message
			case 0x10:
				fr.bytes = body[140+36:]
			case 0x12:
				fr.bytes, fr.reject = body[84:], true
			case 0x13:
				fr.bytes = body[36:]
			}
		}
		if fr.bytes != nil {
			fr.bytes = bytes.Clone(fr.bytes)
			list = append(list, fr)
		}
	}
}

// TestCaptured decodes all messages and all CM rejections (REJ) in the captures of the repository.
// It encodes again those that kernel nodes sent, and compares the bytes.
func TestCaptured(t *testing.T) {
	types, whys := map[string]int{}, map[string]int{}
	for _, f := range captured(t)[:inRepository] {
		if f.reject {
			r, err := kib.ParseReject(f.bytes)
			if err != nil {
				whys[err.Error()]++
				continue
			}
			whys[r.Why.String()]++
			checkAgain(t, f, r.AppendTo(nil))
			continue
		}
		m, err := kib.ParseMsg(f.bytes)
		if err != nil {
			types[err.Error()]++
			continue
		}
		types[m.Type.String()]++
		again, err := m.AppendBinary(nil)
		if err != nil {
			t.Error(err)
		}
		checkAgain(t, f, again)
	}
	if diff := cmp.Diff(map[string]int{"CONNREQ": 10, "CONNACK": 4, "IMMEDIATE": 8, "unknown version": 1}, types); diff != "" {
		t.Errorf("messages (-want +got)\n%s", diff)
	}
	// Two rejects have no private data: those of a wrong port and of RDMA-CM.
	if diff := cmp.Diff(map[string]int{"FATAL": 2, "CONN_STALE": 1, "MSG_QUEUE_SIZE": 2, "not an o2iblnd magic": 2}, whys); diff != "" {
		t.Errorf("rejects (-want +got)\n%s", diff)
	}
}

// inRepository is how many of the captured frames are in the repository.
const inRepository = 30

// TestCapturedElsewhere does the same as TestCaptured for captures that are not in the repository,
// if this machine has them.
func TestCapturedElsewhere(t *testing.T) {
	list := captured(t)[inRepository:]
	if len(list) == 0 {
		t.Skip("no captures beside the repository")
	}
	types := map[kib.MsgType]int{}
	for _, f := range list {
		if m, err := kib.ParseMsg(f.bytes); err == nil && !f.reject {
			types[m.Type]++
			again, _ := m.AppendBinary(nil)
			checkAgain(t, f, again)
		}
	}
	want := map[kib.MsgType]int{
		kib.ConnReq: 10, kib.ConnAck: 4, kib.Immediate: 32, kib.PutReq: 1, kib.PutAck: 1, kib.PutDone: 1, kib.GetReq: 1, kib.GetDone: 1,
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// checkAgain compares a frame with again, the result of encoding its parts again. Only zeros,
// which pad private data, may follow in a frame of a kernel.
func checkAgain(t *testing.T, f frame, again []byte) {
	t.Helper()
	if rest, ok := bytes.CutPrefix(f.bytes, again); f.kernel && (!ok || len(bytes.Trim(rest, "\x00")) > 0) {
		t.Errorf("%s: encoded again\n% x, was\n% x", f.name, again, f.bytes)
	}
}

func FuzzMsg(f *testing.F) {
	for _, c := range captured(f)[:inRepository] {
		f.Add(c.bytes)
	}
	d, _ := kib.MakeDesc(nil, 7, kib.Frag{Length: 1, Address: 2}, kib.Frag{Length: 3, Address: 4})
	for _, t := range []kib.MsgType{kib.Noop, kib.PutReq, kib.PutNak, kib.PutAck, kib.PutDone, kib.GetReq, kib.GetDone} {
		for _, big := range []bool{false, true} {
			m := kib.Msg{Header: kib.Header{Version: kib.V2, Type: t, BigEndian: big}, Desc: d}
			b, err := m.AppendBinary(nil)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := kib.ParseMsg(b)
		if err != nil {
			return
		}
		_ = m.VerifyChecksum(b)
		m.Desc.Total()
		first, err := m.AppendBinary(nil)
		if err != nil {
			if len(b) <= kib.MaxMsgSize {
				t.Fatal(err)
			}
			return
		}
		// The top byte of a NID means nothing and is not kept.
		m, err = kib.ParseMsg(first)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := m.AppendBinary(nil); err != nil || !bytes.Equal(again, first) {
			t.Fatalf("encoded again\n% x, %v, was\n% x", again, err, first)
		}
	})
}

func FuzzReject(f *testing.F) {
	for _, c := range captured(f)[:inRepository] {
		f.Add(c.bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := kib.ParseReject(b)
		if err != nil || !r.Complete {
			return
		}
		if again, err := kib.ParseReject(r.AppendTo(nil)); err != nil || again != r {
			t.Fatalf("%+v, %v, was %+v", again, err, r)
		}
	})
}

func TestNoAllocation(t *testing.T) {
	list := captured(t)[:inRepository]
	buf := make([]byte, 0, kib.MaxMsgSize)
	parsed := 0
	allocs := testing.AllocsPerRun(20, func() {
		for i := range list {
			m, err := kib.ParseMsg(list[i].bytes)
			if err == nil {
				parsed++
				_ = m.VerifyChecksum(list[i].bytes)
				_, _ = m.AppendBinary(buf)
			}
			r, _ := kib.ParseReject(list[i].bytes)
			r.AppendTo(buf)
		}
	})
	if allocs != 0 || parsed == 0 {
		t.Errorf("%v allocations, want none; %d messages", allocs, parsed)
	}
}
