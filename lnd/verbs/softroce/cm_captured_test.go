package softroce

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/verbs/ibta"
)

// Bodies of CM messages that a kernel sent (software RoCE of Linux 6.1).
const (
	kernelREQ = `2a7e24db00000000 00000000010603db 505400fffe880002 00000000 00000000
		00001200 00000000 000000a1 e002cda5 ffff 36 f0 ffff ffff
		00000000000000000000ffff0a580002 00000000000000000000ffff0a580001
		07fbc000 00 40 00 98`
	kernelIPCM = `004003ff 0000000000000000000000000a580002 0000000000000000000000000a580001
		911be90b1200c000 38000000 00000000 0200580a00000500 f315cb8ebb600600 0100580a00000500 0000000000000000 0800010100100000`
	kernelREP = `297e24db 3189e6a9 00000000 00001100 00000000 3a105f00 00 00 79 c0 505400fffe880002`
)

func body(parts ...string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(strings.Join(parts, "")), ""))
	if err != nil {
		panic(err)
	}
	return append(b, make([]byte, ibta.MADBodySize-len(b))...)
}

var noAlternate = strings.Repeat("00", 44)

func kernelCM(addr string, guid ibta.GUID) *cm {
	return newCM(cmConfig{
		Addr: netip.MustParseAddr(addr), GUID: guid, MTU: ibta.MTU1024, Rand: rand.New(rand.NewPCG(1, 1)), MaxConns: 10, MaxConnsEach: 10,
		MaxPending: 10, MaxGranted: 10, MaxGrantedEach: 10,
	})
}

// TestCMCapturedREQ sends the request of a kernel, with the kernel's numbers: the bytes are
// the same.
func TestCMCapturedREQ(t *testing.T) {
	c := kernelCM("10.88.0.2", 0x505400fffe880002)
	c.nextID = 0x2a7e24db
	want := body(kernelREQ, noAlternate, kernelIPCM)
	var out cmOutput
	c.Step(0, cmInput{Call: cmCall{
		Kind: callConnect, To: netip.MustParseAddrPort("10.88.0.1:987"), Port: 1023, Private: want[140+ibta.IPCMSize:],
		End: cmEnd{QPN: 0x12, PSN: 0xe002cd, MTU: ibta.MTU1024, RetryCount: 5, RNRRetryCount: 6, AckTimeout: 19},
	}}, &out)
	got := out.Message(&out.Sends[0])[ibta.MADHeaderSize:]
	if diff := cmp.Diff(hex.Dump(want), hex.Dump(got)); diff != "" {
		t.Error(diff)
	}
}

// TestCMCapturedREP answers the kernel's REQ, with the numbers that a kernel chose: the REP has the
// same bytes as that of the kernel.
func TestCMCapturedREP(t *testing.T) {
	c := kernelCM("10.88.0.1", 0x505400fffe880002)
	c.nextID = 0x297e24db
	var out cmOutput
	c.Step(0, cmInput{Call: cmCall{Kind: callListen, Port: 987}}, &out)
	req := body(kernelREQ, noAlternate, kernelIPCM)
	copy(req, body("3189e6a9")[:4])
	m := ibta.MAD{TransactionID: 77, Attribute: ibta.AttrREQ}.AppendTo(nil)
	c.Step(0, cmInput{From: netip.MustParseAddr("10.88.0.2"), Datagram: append(m, req...)}, &out)
	if len(out.Events) != 1 || !bytes.Equal(out.Private(&out.Events[0]), req[140+ibta.IPCMSize:]) {
		t.Fatalf("%+v", out)
	}
	id := out.Events[0].ID
	out.Reset()
	c.Step(time.Millisecond, cmInput{Call: cmCall{Kind: callAccept, ID: id, End: cmEnd{QPN: 0x11, PSN: 0x3a105f, RNRRetryCount: 6}}}, &out)
	got := out.Message(&out.Sends[0])
	if diff := cmp.Diff(hex.Dump(body(kernelREP)), hex.Dump(got[ibta.MADHeaderSize:])); diff != "" {
		t.Error(diff)
	}
	if mad, _, _ := ibta.ParseMAD(got); mad.TransactionID != 77 {
		t.Errorf("transaction id %d", mad.TransactionID)
	}
}

// FuzzCM gives arbitrary messages to a connection manager in each state in which it waits for
// a message. It must not panic, and must become idle.
func FuzzCM(f *testing.F) {
	f.Add(append(ibta.MAD{Attribute: ibta.AttrREQ}.AppendTo(nil), body(kernelREQ, noAlternate, kernelIPCM)...))
	f.Add(append(ibta.MAD{Attribute: ibta.AttrREP}.AppendTo(nil), body(kernelREP)...))
	f.Add(append(ibta.MAD{Attribute: ibta.AttrREJ}.AppendTo(nil), body("00000000 297e24dc 0000001c")...))
	f.Add(append(ibta.MAD{Attribute: ibta.AttrDREQ}.AppendTo(nil), body("3189e6a9 297e24db 00001100")...))
	f.Add(append(ibta.MAD{Attribute: ibta.AttrRTU}.AppendTo(nil), body("2a7e24db 297e24db")...))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := kernelCM("10.88.0.1", 1)
		c.nextID = 0x297e24db
		from := netip.MustParseAddr("10.88.0.2")
		var out cmOutput
		var wake, now time.Duration
		step := func(in cmInput) {
			wake = c.Step(now, in, &out)
			if err := c.invariants(); err != nil || wake <= now {
				t.Fatal(err, wake)
			}
		}
		step(cmInput{Call: cmCall{Kind: callListen, Port: 987}})
		req := append(ibta.MAD{Attribute: ibta.AttrREQ}.AppendTo(nil), body(kernelREQ, noAlternate, kernelIPCM)...)
		step(cmInput{From: from, Datagram: req})
		step(cmInput{Call: cmCall{Kind: callAccept, ID: 0x297e24db, End: cmEnd{QPN: 0x11}}})
		step(cmInput{Call: cmCall{Kind: callConnect, To: netip.MustParseAddrPort("10.88.0.2:987"), End: cmEnd{QPN: 0x12}}})
		for len(b) > 0 {
			n := min(len(b), ibta.MADSize)
			step(cmInput{From: from, Datagram: b[:n]})
			b = b[n:]
		}
		for i := 0; wake < 1<<62; i++ {
			now = wake
			if step(cmInput{}); i > 1000 {
				t.Fatal("it does not come to rest")
			}
		}
	})
}
