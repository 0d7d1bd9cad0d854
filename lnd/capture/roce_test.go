package capture_test

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/wire"
)

// wantRoCE compares the records of packets with the lines of want.
func wantRoCE(t *testing.T, packets []capture.Packet, want string) capture.Counts {
	t.Helper()
	got, counts := tellRoCE(packets)
	var lines []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	return counts
}

// TestRoCEPairs: if the beginning of a connection is not in the capture, its two directions
// are recognized as one connection, even if both have already been reported as connections of their
// own.
func TestRoCEPairs(t *testing.T) {
	w := newRoceWire(t)
	w.message(0, immediate("one"), 256)
	w.message(1, immediate("two"), 256)
	w.answer(1, 0xFFFFFE, ibta.AckUnlimited)
	w.answer(0, 0x200, ibta.AckUnlimited)
	w.message(1, immediate("three"), 256)
	wantRoCE(t, w.list, `
		1/0 opened
		1/0 mid-stream
		1/0 PUT "one"
		2/0 opened
		2/0 mid-stream
		2/0 PUT "two"
		2/0 closed: `+capture.ErrSame.Error()+`
		1/1 PUT "three"
		1/0 closed: capture ends inside the connection`)
}

// TestRoCESegments: a message in several SENDs is understood when all its packets are there,
// in any order, and while the PSNs wrap around.
func TestRoCESegments(t *testing.T) {
	long := strings.Repeat("12345678", 100)
	w := newRoceWire(t)
	w.message(0, immediate("first"), 256)
	w.message(0, immediate(long), 256)
	w.message(0, immediate("last"), 256)
	const want = `
		1/0 opened
		1/0 mid-stream
		1/0 PUT "first"
		1/0 PUT "12345678"
		1/0 PUT "last"
		1/0 closed: capture ends inside the connection`
	wantRoCE(t, w.list, want)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		shuffled := slices.Clone(w.list)
		tail := shuffled[1:]
		rng.Shuffle(len(tail), func(i, j int) { tail[i], tail[j] = tail[j], tail[i] })
		again := tail[rng.IntN(len(tail))]
		counts := wantRoCE(t, append(shuffled, again, shuffled[0]), want)
		if counts.Repeated != 2 {
			t.Fatalf("%d packets repeated", counts.Repeated)
		}
	}
}

// TestRoCELoss: a retransmission closes a gap; packets that the responder has acknowledged
// are missing in the capture alone.
func TestRoCELoss(t *testing.T) {
	w := newRoceWire(t)
	w.message(0, immediate("one"), 256)
	w.message(0, immediate("two"), 256)
	w.message(0, immediate("three"), 256)
	w.answer(1, 0xFFFFFE, ibta.AckUnlimited)
	again := slices.Delete(slices.Clone(w.list), 1, 2)
	wantRoCE(t, append(again, w.list[1]), `
		1/0 opened
		1/0 mid-stream
		1/0 PUT "one"
		1/0 PUT "two"
		1/0 PUT "three"
		1/0 closed: capture ends inside the connection`)
	w.answer(1, 0, ibta.AckUnlimited)
	wantRoCE(t, slices.Delete(slices.Clone(w.list), 1, 2), `
		1/0 opened
		1/0 mid-stream
		1/0 PUT "one"
		1/0 lost 1
		1/0 PUT "three"
		1/0 closed: capture ends inside the connection`)
}

// TestRoCENak: a NAK acknowledges the packets before its PSN and no others.
func TestRoCENak(t *testing.T) {
	w := newRoceWire(t)
	for _, s := range []string{"one", "two", "three"} {
		w.message(0, immediate(s), 256)
	}
	w.answer(1, 0xFFFFFE, ibta.AckUnlimited)
	w.answer(1, 0xFFFFFF, ibta.NakSequence)
	list := slices.Delete(slices.Clone(w.list), 1, 2)
	wantRoCE(t, append(list, w.list[1], w.list[2]), `
		1/0 opened
		1/0 mid-stream
		1/0 PUT "one"
		1/0 PUT "two"
		1/0 PUT "three"
		1/0 closed: capture ends inside the connection`)
}

// bulk makes a PUT of 2000 bytes and a GET of 1500, whose sinks have two
// fragments.
func (w *roceWire) bulk() {
	data := bytes.Repeat([]byte("payload!"), 250)
	desc, err := kib.MakeDesc(nil, 0x1234, kib.Frag{Length: 600, Address: 0x1000}, kib.Frag{Length: 1400, Address: 1 << 63})
	if err != nil {
		w.t.Fatal(err)
	}
	get := wire.Header{DestPID: 12345, SrcPID: 12345}
	get.SetGet(wire.GetCmd{Portal: 51, SinkLength: 2000})

	w.message(0, kib.Msg{Header: kib.Header{Type: kib.PutReq}, LNet: putHeader(2000), Cookie: 5}, 1024)
	w.message(1, kib.Msg{Header: kib.Header{Type: kib.PutAck}, Cookie: 5, DstCookie: 6, Desc: desc}, 1024)
	w.answer(0, w.ends[1].psn.Add(-1), ibta.AckUnlimited)
	w.answer(1, w.ends[0].psn.Add(-1), ibta.AckUnlimited)
	w.write(0, data[:600], 256, 0x1234, 0x1000)
	w.write(0, data[600:], 256, 0x1234, 1<<63)
	w.message(0, kib.Msg{Header: kib.Header{Type: kib.PutDone}, Cookie: 6, Status: 2000}, 1024)
	w.message(0, kib.Msg{Header: kib.Header{Type: kib.GetReq}, LNet: get, Cookie: 5, Desc: desc}, 1024)
	w.write(1, data[:600], 1024, 0x1234, 0x1000)
	w.write(1, data[600:1500], 1024, 0x1234, 1<<63)
	w.message(1, kib.Msg{Header: kib.Header{Type: kib.GetDone}, Cookie: 5, Status: 1500}, 1024)
}

// TestRoCETransfers: the record of a DONE has the PUT or REPLY whose payload went by RDMA WRITEs, with
// its first bytes.
func TestRoCETransfers(t *testing.T) {
	w := newRoceWire(t)
	w.message(0, immediate("one"), 256)
	w.answer(1, 0xFFFFFE, ibta.AckUnlimited)
	w.message(1, immediate("two"), 256)
	w.bulk()
	begin := `
		1/0 opened
		1/0 mid-stream
		1/0 PUT "one"
		1/1 PUT "two"
		1/0 PUT
		1/1 PUT_ACK`
	wantRoCE(t, w.list, begin+`
		1/0 PUT_DONE PUT of 2000, missing 0, 2 writes, "payload!"
		1/0 GET
		1/1 GET_DONE REPLY of 1500, missing 0, 2 writes, "payload!"
		1/0 closed: capture ends inside the connection`)

	// An answer without a request, and an answer to a request that is done already.
	w.message(1, kib.Msg{Header: kib.Header{Type: kib.GetDone}, Cookie: 5, Status: 1500}, 1024)
	w.message(1, kib.Msg{Header: kib.Header{Type: kib.PutNak}, Cookie: 77, Status: -61}, 1024)
	w.message(0, kib.Msg{Header: kib.Header{Type: kib.Noop}}, 1024)
	wantRoCE(t, w.list, begin+`
		1/0 PUT_DONE PUT of 2000, missing 0, 2 writes, "payload!"
		1/0 GET
		1/1 GET_DONE REPLY of 1500, missing 0, 2 writes, "payload!"
		1/1 GET_DONE: `+capture.ErrNoAnswer.Error()+`
		1/1 PUT_NAK: `+capture.ErrNoAnswer.Error()+`
		1/0 NOOP
		1/0 closed: capture ends inside the connection`)
}

// TestRoCETransferHalf: an answer that comes before the two directions are known to belong
// together is not understood; later ones are.
func TestRoCETransferHalf(t *testing.T) {
	w := newRoceWire(t)
	w.bulk()
	wantRoCE(t, w.list, `
		1/0 opened
		1/0 mid-stream
		1/0 PUT
		2/0 opened
		2/0 mid-stream
		2/0 PUT_ACK: answers nothing that the capture shows
		1/0 closed: is the other direction of a connection that was found
		2/1 PUT_DONE: answers nothing that the capture shows
		2/1 GET
		2/0 GET_DONE REPLY of 1500, missing 0, 2 writes, "payload!"
		2/0 closed: capture ends inside the connection`)
}

// TestRoCETransferDamaged: payload that is not in the capture is counted as missing.
func TestRoCETransferDamaged(t *testing.T) {
	w := newRoceWire(t)
	w.message(0, immediate("one"), 256)
	w.answer(1, 0xFFFFFE, ibta.AckUnlimited)
	w.bulk()
	w.answer(1, w.ends[0].psn.Add(-1), ibta.AckUnlimited)
	for i, p := range w.list {
		if roce, err := ibta.ParsePacket(p.Data[28:]); err == nil && roce.OpCode == ibta.WriteMiddle {
			w.list = slices.Delete(w.list, i, i+1) // one of the three packets is missing: 256 of 600 bytes
			break
		}
	}
	got, _ := tellRoCE(w.list)
	want := `1/0 PUT_DONE PUT of 2000, missing 344, 2 writes, "payload!"`
	if !slices.Contains(got, want) || !slices.Contains(got, "1/0 lost 1") {
		t.Errorf("no %q in\n%s", want, strings.Join(got, "\n"))
	}
}

// TestRoCEOverIPv6: over IPv6 everything but the ICRC is the same.
func TestRoCEOverIPv6(t *testing.T) {
	w := newRoceWire(t)
	w.ends[0].addr, w.ends[1].addr = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
	w.message(0, immediate("one"), 256)
	w.answer(1, 0xFFFFFE, ibta.AckUnlimited)
	w.message(1, immediate("two"), 256)
	counts := wantRoCE(t, w.list, `
		1/0 opened
		1/0 mid-stream
		1/0 PUT "one"
		1/1 PUT "two"
		1/0 closed: capture ends inside the connection`)
	if counts.BadICRC != 0 || counts.Other != 0 {
		t.Errorf("%+v", counts)
	}
}
