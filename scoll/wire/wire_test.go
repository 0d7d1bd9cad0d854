package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// goldenRequest has every field set.
var goldenRequest = RequestHeader{
	ReplyBits: 0x0102030405060708, Sequence: 0x1112, RootIncarnation: 0x2122, Service: 0x31,
	Flags: FlagLast | FlagList | FlagSubset,
	Group: GroupID{nid.MustParse("10.0.0.1@tcp"), 0x41, 0x42, Digest{0: 0xD1, 15: 0xD2}},
	Tree:  Tree{KNomial, 4}, Carry: 0x6162, Nodes: 9, Root: 3,
	RTT: time.Millisecond, Guard: 5 * time.Millisecond, BulkTime: 2 * time.Millisecond, Processing: time.Second, Hold: 5 * time.Second,
	First: 0x1110, Live: Digest{0: 0xE1, 15: 0xE2}, Bulk: RMA{0x51, 0x52}, ListSize: 2, PayloadSize: 3,
	Segment: 0x10001,
}

const goldenRequestBytes = "53434f4c" + "0100" + "c000" + // magic, version, size
	"0807060504030201" + "1211000000000000" + "2221000000000000" + // reply bits, sequence, root incarnation
	"31000000" + "19000000" + // service, flags: the list is in the message
	"00020000" + "0a000001" + "000000000000000000000000" + // creator
	"4100000000000000" + "4200000000000000" + "d10000000000000000000000000000d2" + // group
	"0114" + "6261" + "04000000" + "09000000" + "03000000" + // tree, hold and carry, K, nodes, root
	"e8030000" + "88130000" + "d0070000" + "40420f00" + // RTT, guard, bulk time and processing time, in µs
	"1011000000000000" + "e10000000000000000000000000000e2" + // first, live
	"5100000000000000" + "5200000000000000" + "0000000000000000" + "0000000000000000" + // bulk, list
	"02000000" + "03000000" + "01000100" // sizes, segment

// TestRequestHeader checks the bytes of a request's header (SC-82, SC-140).
func TestRequestHeader(t *testing.T) {
	spec.Covers(t, "SC-82", "SC-140")
	got := goldenRequest.AppendTo(nil)
	if hex.EncodeToString(got) != goldenRequestBytes || len(got) != RequestHeaderSize {
		t.Fatalf("got  %x\nwant %s", got, goldenRequestBytes)
	}
	message := append(got, 1, 2, 3, 4, 5)
	h, body, err := ParseRequestHeader(message)
	if err != nil || h != goldenRequest || !bytes.Equal(body, []byte{1, 2, 3, 4, 5}) {
		t.Errorf("parsed %+v, body %v, %v", h, body, err)
	}
	for i := range message {
		want := ErrBody
		if i < answerableSize {
			want = ErrShort
		}
		if h, _, err := ParseRequestHeader(message[:i]); !errors.Is(err, want) || i >= answerableSize && h.ReplyBits != goldenRequest.ReplyBits {
			t.Errorf("%d bytes: %v, want %v", i, err, want)
		}
	}
	if _, _, err := ParseRequestHeader(append(message, make([]byte, MaxMessage)...)); !errors.Is(err, ErrBody) {
		t.Errorf("too long: %v", err)
	}
}

// TestBadRequestHeaders: SC-60, each header that contradicts itself is refused.
func TestBadRequestHeaders(t *testing.T) {
	spec.Covers(t, "SC-60")
	for name, c := range map[string]struct {
		at    int
		value byte
		want  error
	}{
		"magic": {0, 0, ErrMagic}, "version": {4, 2, ErrVersion}, "header size": {6, 0, ErrVersion},
		"flag": {37, 1, ErrHeader}, "tree": {92, 3, ErrHeader}, "K": {96, 1, ErrHeader}, "nodes": {100, 3, ErrHeader},
		"first": {125, 0xFF, ErrHeader}, "two lists": {172, 1, ErrHeader}, "list size": {180, 3, ErrBody},
		"list size beyond": {183, 0x80, ErrBody}, "a list without flag": {36, 0x11, ErrHeader},
		"an out-of-band group with a creator": {36, 0x1D, ErrHeader},
		"bulk data above 4 GiB":               {160, 1, ErrHeader}, "short segments": {190, 0, ErrHeader}, "bulk data of the module": {36, 0x1B, ErrHeader},
	} {
		bad := append(goldenRequest.AppendTo(nil), 1, 2, 3, 4, 5)
		bad[c.at] = c.value
		if _, _, err := ParseRequestHeader(bad); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

var goldenReply = ReplyHeader{
	RootIncarnation: 0x2122, Sequence: 0x1112, Flags: ReplyLast | ReplyCollective, Status: ETIMEDOUT, Part: 2,
	PayloadSize: 7, Trailer: 1, Nodes: 4, Entities: 12,
}

const goldenReplyBytes = "53434f4c" + "0100" + "3800" + "2221000000000000" + "1211000000000000" +
	"03000000" + "6e000000" + "02000000" + "07000000" + "01000000" + "04000000" + "0c000000" + "00000000"

// TestReplyHeader checks the bytes of a reply's header.
func TestReplyHeader(t *testing.T) {
	got := goldenReply.AppendTo(nil)
	if hex.EncodeToString(got) != goldenReplyBytes || len(got) != ReplyHeaderSize {
		t.Fatalf("got  %x\nwant %s", got, goldenReplyBytes)
	}
	h, rest, err := ParseReplyHeader(append(got, 9))
	if err != nil || h != goldenReply || !bytes.Equal(rest, []byte{9}) {
		t.Errorf("parsed %+v, rest %v, %v", h, rest, err)
	}
	for i := range got {
		if _, _, err := ParseReplyHeader(got[:i]); !errors.Is(err, ErrShort) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
	for name, c := range map[string]struct {
		at   int
		want error
	}{"magic": {0, ErrMagic}, "version": {4, ErrVersion}, "flags": {27, ErrHeader}, "status": {30, ErrHeader}} {
		bad := bytes.Clone(got)
		bad[c.at] = 0xFF
		if _, _, err := ParseReplyHeader(bad); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestMissing (SC-A27) checks the bytes of an entry of a trailer.
func TestMissing(t *testing.T) {
	spec.Covers(t, "SC-A27")
	e := Missing{0x01020304, EHOSTDOWN, Subtree}
	got := e.AppendTo(nil)
	if hex.EncodeToString(got) != "0403020170000200" {
		t.Fatalf("%x", got)
	}
	if back, rest, err := ParseMissing(got); back != e || len(rest) != 0 || err != nil {
		t.Errorf("parsed %v %v %v", back, rest, err)
	}
	for name, bad := range map[string]string{"scope": "0403020170000300", "no status": "0403020100000200", "short": "04030201"} {
		b, _ := hex.DecodeString(bad)
		if _, _, err := ParseMissing(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func testTargets(n, tags int) []Target {
	targets := make([]Target, n)
	for i := range targets {
		targets[i].NID = nid.FromNumber(nid.MakeNet(nid.GNI, 0), uint32(i+1))
		for tag := range tags {
			targets[i].Entities = append(targets[i].Entities, Entity{byte(i), byte(i >> 8), byte(tag)})
		}
	}
	return targets
}

// TestMembership: SC-4, SC-88 and SC-A13: the digest covers the members' order and tags, and
// both survive encoding.
func TestMembership(t *testing.T) {
	spec.Covers(t, "SC-4", "SC-88", "SC-A13")
	m, err := NewMembership(testTargets(20, 3))
	if err != nil || m.Len() != 20 || m.Entities() != 60 || m.Rank(m.NID(7)) != 7 || m.Rank(nid.MustParse("1@gni1")) != -1 {
		t.Fatalf("%v: %d nodes, %d entities", err, m.Len(), m.Entities())
	}
	wire := m.AppendTo(nil)
	if len(wire) != m.Size() {
		t.Errorf("%d bytes, said %d", len(wire), m.Size())
	}
	back, err := ParseMembership(wire)
	if err != nil || back.Digest() != m.Digest() || back.Target(19).Entities[2] != m.Target(19).Entities[2] {
		t.Fatalf("parsed %v, %v", back, err)
	}
	for i := range wire {
		if _, err := ParseMembership(wire[:i]); err == nil && i%(minTarget+48) != 0 {
			t.Fatalf("%d of %d bytes are taken", i, len(wire))
		}
	}
	if _, err := ParseMembership(append(wire, 0)); !errors.Is(err, ErrShort) {
		t.Errorf("a byte more: %v", err)
	}
	swapped := testTargets(20, 3)
	swapped[3], swapped[4] = swapped[4], swapped[3]
	if other, _ := NewMembership(swapped); other.Digest() == m.Digest() {
		t.Error("the digest does not depend on the order")
	}
}

func TestStatusText(t *testing.T) {
	if got := ENOGROUP.Error() + ", " + Status(77).Error(); got != "no such group, status 77" {
		t.Error(got)
	}
	if StatusOf(errors.Join(errors.New("x"), EBUSY)) != EBUSY || StatusOf(errors.New("x")) != EIO || StatusOf(nil) != OK {
		t.Error("the status of an error")
	}
	if got := (GroupID{Incarnation: 0xAB, Index: 1}).String(); !strings.HasPrefix(got, "oob.ab") {
		t.Error(got)
	}
}

func FuzzRequestHeader(f *testing.F) {
	f.Add(append(goldenRequest.AppendTo(nil), 1, 2, 3, 4, 5))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, body, err := ParseRequestHeader(b)
		if err != nil {
			return
		}
		again, _, err := ParseRequestHeader(append(h.AppendTo(nil), body...))
		if err != nil || again != h {
			t.Errorf("again %+v, %v", again, err)
		}
		if m, err := ParseMembership(body[:h.ListSize]); err == nil && len(m.AppendTo(nil)) != int(h.ListSize) {
			t.Errorf("%d members of another length", m.Len())
		}
	})
}

// TestProgress (SC-A17) checks the bytes of a Progress message.
func TestProgress(t *testing.T) {
	spec.Covers(t, "SC-A17")
	p := Progress{0x0102030405060708, 0x1112, EIO, false}
	got := p.AppendTo(nil)
	if hex.EncodeToString(got) != "53434f50"+"0100"+"2000"+"0807060504030201"+"1211000000000000"+"05000000"+"00000000" {
		t.Fatalf("%x", got)
	}
	if back, err := ParseProgress(got); back != p || err != nil {
		t.Errorf("parsed %+v, %v", back, err)
	}
	for i := range got {
		if _, err := ParseProgress(got[:i]); !errors.Is(err, ErrShort) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
	for at, want := range map[int]error{0: ErrMagic, 4: ErrVersion, 6: ErrVersion, 26: ErrHeader} {
		bad := bytes.Clone(got)
		bad[at] = 0xFF
		if _, err := ParseProgress(bad); !errors.Is(err, want) {
			t.Errorf("byte %d: %v, want %v", at, err, want)
		}
	}
	if _, err := ParseProgress(append(got, 0)); !errors.Is(err, ErrHeader) {
		t.Errorf("a byte too many: %v", err)
	}
}

func FuzzProgress(f *testing.F) {
	f.Add((&Progress{1, 2, EIO, false}).AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParseProgress(b)
		if err != nil {
			return
		}
		if again, err := ParseProgress(append(p.AppendTo(nil), b[WordSize:]...)); err != nil || again != p {
			t.Errorf("again %+v, %v", again, err)
		}
	})
}

// TestHold checks the bytes of a Hold message.
func TestHold(t *testing.T) {
	w := Hold{0x0102030405060708, 0x1112, true, false}
	got := w.AppendTo(nil)
	if hex.EncodeToString(got) != "53434f48"+"0100"+"2000"+"0807060504030201"+"1211000000000000"+"01000000"+"00000000" {
		t.Fatalf("%x", got)
	}
	if back, err := ParseHold(got); back != w || err != nil {
		t.Errorf("parsed %+v, %v", back, err)
	}
	for i := range got {
		if _, err := ParseHold(got[:i]); !errors.Is(err, ErrShort) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
	for at, want := range map[int]error{0: ErrMagic, 4: ErrVersion, 6: ErrVersion, 24: ErrHeader, 27: ErrHeader} {
		bad := bytes.Clone(got)
		bad[at] = 0xFF
		if _, err := ParseHold(bad); !errors.Is(err, want) {
			t.Errorf("byte %d: %v, want %v", at, err, want)
		}
	}
	if _, err := ParseHold(append(got, 0)); !errors.Is(err, ErrHeader) {
		t.Errorf("a byte too many: %v", err)
	}
	far := RequestHeader{Hold: time.Hour, Group: goldenRequest.Group, Tree: Tree{KNomial, 2}, Nodes: 1}
	if h, _, err := ParseRequestHeader(far.AppendTo(nil)); err != nil || h.Hold != MaxHold {
		t.Errorf("a request may be held for %v, %v", h.Hold, err)
	}
}

func FuzzHold(f *testing.F) {
	f.Add((&Hold{1, 2, true, false}).AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := ParseHold(b)
		if err != nil {
			return
		}
		if again, err := ParseHold(append(w.AppendTo(nil), b[WordSize:]...)); err != nil || again != w {
			t.Errorf("again %+v, %v", again, err)
		}
	})
}

func FuzzReplyHeader(f *testing.F) {
	f.Add(append(goldenReply.AppendTo(nil), Missing{3, EIO, Node}.AppendTo(nil)...))
	f.Add(append(goldenSpoken.AppendTo(nil), Missing{3, EIO, Node}.AppendTo(nil)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, rest, err := ParseReplyHeader(b)
		if err != nil {
			return
		}
		if again, _, err := ParseReplyHeader(h.AppendTo(nil)); err != nil || again != h {
			t.Errorf("again %+v, %v", again, err)
		}
		if e, _, err := ParseMissing(rest); err == nil && !bytes.Equal(e.AppendTo(nil)[:7], rest[:7]) {
			t.Errorf("entry %v", e)
		}
	})
}

// TestIdentity checks the bytes of an Identity message.
func TestIdentity(t *testing.T) {
	i := Identity{0x0102030405060708, 0x1112, Tell, false}
	got := i.AppendTo(nil)
	if hex.EncodeToString(got) != "53434f49"+"0100"+"2000"+"0807060504030201"+"1211000000000000"+"02000000"+"00000000" {
		t.Fatalf("%x", got)
	}
	if back, err := ParseIdentity(got); back != i || err != nil {
		t.Errorf("parsed %+v, %v", back, err)
	}
	for n := range got {
		if _, err := ParseIdentity(got[:n]); !errors.Is(err, ErrShort) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	for at, want := range map[int]error{0: ErrMagic, 4: ErrVersion, 6: ErrVersion, 24: ErrHeader, 28: ErrHeader} {
		bad := bytes.Clone(got)
		bad[at] = 0xFF
		if _, err := ParseIdentity(bad); !errors.Is(err, want) {
			t.Errorf("byte %d: %v, want %v", at, err, want)
		}
	}
}

func FuzzIdentity(f *testing.F) {
	f.Add((&Identity{1, 2, Ask, false}).AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		i, err := ParseIdentity(b)
		if err != nil {
			return
		}
		if again, err := ParseIdentity(append(i.AppendTo(nil), b[WordSize:]...)); err != nil || again != i {
			t.Errorf("again %+v, %v", again, err)
		}
	})
}
