package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

func testID(i int) ID {
	return MustParseID(fmt.Sprintf("n%d=%v", i, nid.FromNumber(nid.MustParseNet("tcp"), 10<<24+uint32(i)+1)))
}

func v(inc uint64, minor uint32) Version { return Version{inc, minor} }

// ends returns the codecs of a receiver, node 0, and of a sender, node 1, both of which know
// the same six nodes.
func ends(t testing.TB, keys ...string) (to, from *Codec) {
	t.Helper()
	end := func(self int) *Codec {
		names := newSeenNames()
		for i := range 6 {
			if _, err := names.Add(testID(i)); err != nil {
				t.Fatal(err)
			}
		}
		k := keysOf(t, keys...)
		return &Codec{Names: names, Zone: ZoneNumber("test"), Ring: k.Ring(""), Self: names.Find(testID(self).Short()), MaxBytes: MaxMessage}
	}
	return end(0), end(1)
}

// keysOf returns a key for each word. The bytes of the key begin with the word.
func keysOf(t testing.TB, words ...string) keyring.Keys {
	t.Helper()
	if len(words) == 0 {
		return keyring.Keys{}
	}
	var keys [][]byte
	for _, w := range words {
		keys = append(keys, []byte(w+strings.Repeat(".", keyring.MinKey)))
	}
	k, err := keyring.NewKeys(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// lookup returns the Ref that the receiver or the sender has for a node (see ends).
func lookup(c *Codec, id ID) Ref { return c.Names.Find(id.Short()) }

// encoded returns the bytes of a message of node 1 to node 0.
func encoded(from *Codec, msg Message) []byte {
	msg.From, msg.Version = from.Self, v(3, 4)
	if !msg.Kind.HasLists() {
		return from.Append(nil, &msg, testID(0).Short())
	}
	return from.AppendParts(nil, &msg, testID(0).Short(), func(int, int) {})
}

// TestGolden checks the bytes of a message of every kind (MS-17, MS-A11).
func TestGolden(t *testing.T) {
	spec.Covers(t, "MS-17", "MS-A11")
	header := func(kind, flags string) string {
		return "5a4f4e45 01 " + kind + " " + flags + " a94a8fe5ccb19ba6 " + hex.EncodeToString(le64(testID(1).Short())) +
			" 0300000000000000 04000000 "
	}
	zone := hex.EncodeToString(le64(ZoneNumber("test")))
	short := func(i int) string { return hex.EncodeToString(le64(testID(i).Short())) + " " }
	id := func(i int) string {
		b := testID(i).AppendCanonical(nil)
		return hex.EncodeToString([]byte{byte(len(b)), 0}) + " " + hex.EncodeToString(b) + " "
	}
	_, from := ends(t)
	ref := func(i int) Ref { return lookup(from, testID(i)) }
	const v72 = "0700000000000000 02000000 "
	for _, c := range []struct {
		msg  Message
		want string
	}{
		{Message{Kind: Heartbeat, Flags: Echo, Hash: 0x1122, Tables: 0x3344}, header("01", "0200") + "2211000000000000 4433000000000000"},
		{Message{Kind: LinkRequest, Roles: Successor | Random}, header("02", "0000") + "03" + id(1)},
		{Message{Kind: LinkAccept, Roles: Random}, header("03", "0000") + "02"},
		{Message{Kind: LinkRefuse, Reason: Removed, About: ref(0), AboutVersion: v(7, 2)}, header("04", "0000") + "01" + v72},
		{Message{Kind: LinkRefuse, Reason: Redirect, About: ref(3), AboutVersion: v(7, 2)}, header("04", "0000") + "02" + id(3) + v72},
		{Message{Kind: LinkDrop, Reason: NoLink}, header("05", "0000") + "04"},
		{
			Message{Kind: Base, Flags: Repair | Ask, Lists: &Lists{
				Alive: []Member{{ref(2), v(7, 2)}}, Suspicions: []Suspicion{{ref(3), ref(4), v(7, 2)}}, Removed: []Member{{ref(5), v(7, 2)}},
			}},
			header("06", "3000") + "00000000 01000000 01000000 01000000" + id(2) + v72 + short(3) + short(4) + v72 + short(5) + v72,
		},
		{
			Message{Kind: Update, Lists: &Lists{Leaves: []Departure{{ref(2), v(7, 2), -3}}}},
			header("07", "0000") + "01000000 00000000 00000000 00000000" + short(2) + v72 + "fdffffff",
		},
		{Message{Kind: DiscoveryRequest, Flags: Healing}, header("08", "0400") + id(1)},
		{Message{Kind: DiscoveryReply, Flags: Healing | Third, Lists: &Lists{}}, header("09", "0c00") + strings.Repeat("00", 16)},
		{
			Message{Kind: AttributeDigest, Lists: &Lists{Tables: []TableVersion{{ref(2), 7, 9}}}},
			header("0a", "0000") + "01000000" + short(2) + "0700000000000000 0900000000000000",
		},
		{Message{Kind: AttributeRequest, Flags: Push, Lists: &Lists{}}, header("0b", "4000") + "00000000"},
		{
			Message{Kind: AttributeData, Lists: &Lists{Data: []TableData{{
				Owner: ref(2), Inc: 7, From: 1, To: 5, Last: true,
				Entries: []Attribute{{Key: "a", Value: []byte("xyz"), U: 2}, {Key: "bc", Deleted: true, U: 5}},
			}}}},
			header("0c", "0000") + "01000000" + short(2) + "0700000000000000 0100000000000000 0500000000000000 02000080" +
				"0200000000000000 01 00 03000000 61 78797a" + "0500000000000000 02 01 00000000 6263",
		},
		{
			Message{Kind: Notice, Lists: &Lists{Suspicions: []Suspicion{{ref(1), ref(4), v(7, 2)}}}},
			header("0d", "0000") + "00000000 00000000 01000000 00000000" + short(1) + short(4) + v72,
		},
		{
			Message{Kind: Notice, Lists: &Lists{Suspicions: []Suspicion{{ref(1), ref(4), v(7, 2)}}, Silences: []Suspicion{{ref(3), ref(4), v(7, 2)}, {ref(1), ref(5), v(7, 2)}}}},
			header("0d", "0000") + "00000000 00000000 04000000 00000000" + short(1) + short(4) + v72 +
				strings.Repeat("00", 16) + "0100000000000000 01000000" + short(3) + short(4) + v72 + short(1) + short(5) + v72,
		},
	} {
		b := encoded(from, c.msg)
		want := strings.ReplaceAll(strings.ReplaceAll(c.want, " ", ""), "a94a8fe5ccb19ba6", zone)
		if got := hex.EncodeToString(b); got != want {
			t.Errorf("%v:\n%s\n%s", c.msg.Kind, got, want)
		}
		if n := Size(from.Names, &Message{Kind: c.msg.Kind, Flags: c.msg.Flags, Reason: c.msg.Reason, About: c.msg.About, From: ref(1), Lists: c.msg.Lists}); n != len(b) {
			t.Errorf("%v: %d bytes, said %d", c.msg.Kind, len(b), n)
		}
		parsesBack(t, from, &c.msg, b)
	}
}

func le64(n uint64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
	return b
}

// parsesBack checks that node 0 parses b to msg; node 1 has made b from msg with its codec, from. The codec of
// node 0 is a copy of from with another Self, because both nodes have the same table of ids. parsesBack
// also checks that b is no valid message if bytes at its end are missing, or if there is one byte more.
func parsesBack(t *testing.T, from *Codec, msg *Message, b []byte) {
	t.Helper()
	c := *from
	c.Self = lookup(from, testID(0))
	var got Message
	var l Lists
	if err := c.Parse(b, &got, &l); err != nil {
		t.Errorf("%v: %v", msg.Kind, err)
		return
	}
	want := *msg
	want.From, want.Version = from.Self, v(3, 4)
	gl, wl := got.Lists, want.Lists
	got.Lists, want.Lists = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if (gl == nil) != (wl == nil) || gl != nil && (len(gl.Alive) != len(wl.Alive) || len(gl.Leaves) != len(wl.Leaves) ||
		len(gl.Data) > 0 && !reflect.DeepEqual(gl.Data, wl.Data) || len(gl.Tables) > 0 && !reflect.DeepEqual(gl.Tables, wl.Tables) ||
		len(gl.Suspicions) > 0 && !reflect.DeepEqual(gl.Suspicions, wl.Suspicions) ||
		len(gl.Silences)+len(wl.Silences) > 0 && !reflect.DeepEqual(gl.Silences, wl.Silences) || len(gl.Removed) != len(wl.Removed)) {
		t.Errorf("got  %+v\nwant %+v", gl, wl)
	}
	for n := range b {
		if err := c.Parse(b[:n], &got, &l); err == nil {
			t.Errorf("%v: %d of %d bytes are a message, too", msg.Kind, n, len(b))
		}
	}
	if err := c.Parse(append(b[:len(b):len(b)], 0), &got, &l); !errors.Is(err, errBody) {
		t.Errorf("%v: with a byte more: %v", msg.Kind, err)
	}
}

// TestKey: messages that are not signed with the cluster's key are refused, and so are messages
// to another node (MS-A33).
func TestKey(t *testing.T) {
	spec.Covers(t, "MS-A33")
	to, from := ends(t, "secret")
	_, stranger := ends(t, "other")
	_, plain := ends(t)
	var m Message
	var l Lists
	good := encoded(from, Message{Kind: Heartbeat})
	if err := to.Parse(good, &m, &l); err != nil || len(good) != 64 {
		t.Errorf("%v, %d bytes", err, len(good))
	}
	for _, c := range [][]byte{
		encoded(stranger, Message{Kind: Heartbeat}),
		encoded(plain, Message{Kind: Heartbeat}),
		append(append([]byte(nil), good[:HeaderSize]...), good[HeaderSize+1:]...),
	} {
		if err := to.Parse(c, &m, &l); !errors.Is(err, ErrCode) {
			t.Errorf("%x: %v", c, err)
		}
	}
	other := *to
	other.Self = lookup(to, testID(3))
	if err := other.Parse(good, &m, &l); !errors.Is(err, ErrCode) {
		t.Errorf("to another node: %v", err)
	}
	lists := encoded(from, Message{Kind: Update, Lists: &Lists{Alive: []Member{{lookup(from, testID(4)), v(1, 1)}}}})
	if err := to.Parse(lists, &m, &l); err != nil || len(l.Alive) != 1 {
		t.Errorf("lists: %v", err)
	}
}

// TestCodeOnWire: MS-A33: the authentication code is the beginning of an HMAC-SHA-256, with the
// key itself, over the receiver's short form and the message.
func TestCodeOnWire(t *testing.T) {
	spec.Covers(t, "MS-A33")
	_, from := ends(t, "secret")
	b := encoded(from, Message{Kind: Heartbeat})
	mac := hmac.New(sha256.New, []byte("secret................"))
	mac.Write(le64(testID(0).Short()))
	mac.Write(b[:len(b)-codeSize])
	if want := mac.Sum(nil)[:codeSize]; !hmac.Equal(b[len(b)-codeSize:], want) {
		t.Errorf("code %x, want %x", b[len(b)-codeSize:], want)
	}
}

// TestKeyRotation: MS-A33: while the key changes on one node after another, no message between
// two nodes is refused. In the end the old key is not valid any more.
func TestKeyRotation(t *testing.T) {
	spec.Covers(t, "MS-A33")
	steps := [][]string{{"old"}, {"old", "new"}, {"new", "old"}, {"new"}}
	var m Message
	var l Lists
	verify := func(to, from []string) error {
		receiver, _ := ends(t, to...)
		_, sender := ends(t, from...)
		return receiver.Parse(encoded(sender, Message{Kind: Heartbeat}), &m, &l)
	}
	for i := range steps {
		for j := range steps {
			err := verify(steps[i], steps[j])
			if step := max(i, j) - min(i, j); step <= 1 && err != nil {
				t.Errorf("keys %v refuse what is signed with %v: %v", steps[i], steps[j], err)
			}
		}
	}
	if err := verify([]string{"new"}, []string{"old", "new"}); !errors.Is(err, ErrCode) {
		t.Errorf("the old key is still accepted: %v", err)
	}
}

// FuzzParse: no bytes cause a panic, and a message that can be parsed is encoded to the same
// bytes.
func FuzzParse(f *testing.F) {
	_, from := ends(f)
	ref := func(i int) Ref { return lookup(from, testID(i)) }
	for _, m := range []Message{
		{Kind: Heartbeat},
		{Kind: LinkRequest},
		{Kind: LinkRefuse, Reason: Redirect, About: ref(3), AboutVersion: v(1, 1)},
		{Kind: Base, Flags: Repair, Lists: &Lists{Alive: []Member{{ref(2), v(1, 1)}}, Removed: []Member{{ref(2), v(1, 1)}}}},
		{Kind: Update, Lists: &Lists{Leaves: []Departure{{ref(2), v(7, 2), -3}}, Suspicions: []Suspicion{{ref(2), ref(3), v(1, 1)}}}},
		{Kind: Notice, Lists: &Lists{Suspicions: []Suspicion{{ref(2), ref(3), v(1, 1)}}, Silences: []Suspicion{{ref(3), ref(2), v(1, 1)}}}},
		{Kind: AttributeDigest, Lists: &Lists{Tables: []TableVersion{{ref(2), 7, 9}}}},
		{Kind: AttributeData, Lists: &Lists{Data: []TableData{{Owner: ref(2), Inc: 7, To: 5, Entries: []Attribute{{Key: "a", U: 2}}}}}},
	} {
		f.Add(encoded(from, m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		to, _ := ends(t)
		var m Message
		var l Lists
		if err := to.Parse(b, &m, &l); err != nil || m.From == 0 {
			return
		}
		if l.Removed == nil && len(l.Suspicions) == 0 && m.Lists == nil {
			if again := to.appendFixed(nil, &m); string(again) != string(b) {
				t.Errorf("%x\nis written as\n%x", b, again)
			}
		}
	})
}
