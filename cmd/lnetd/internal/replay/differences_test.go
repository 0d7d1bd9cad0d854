package replay_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/lnetd/internal/replay"
	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// recordsOf returns the records that a side sends on the first connection of a recording.
func recordsOf(t *testing.T, name string, from replay.Side) (all []*capture.Record) {
	t.Helper()
	for _, e := range load(t, name).Records().Events {
		if e.Kind == replay.Data && e.Conn == 0 && e.From == from {
			all = append(all, e.Record)
		}
	}
	return all
}

// changed returns one of the records with some bytes changed.
func changed(t *testing.T, all []*capture.Record, from replay.Side, record int, change func(b []byte)) *capture.Record {
	t.Helper()
	f := replay.Framer{Side: from}
	for _, r := range all[:record] {
		if _, err := f.Next(r.Raw); err != nil {
			t.Fatal(err)
		}
	}
	b := bytes.Clone(all[record].Raw)
	change(b)
	r, err := f.Next(b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Indexes of the records of tcp-ping, by side, and offsets in these records.
const (
	dialled, accepted            = replay.Initiator, replay.Acceptor
	request, hello, get          = 0, 1, 2 // indexes of the initiator's records
	acceptorHello, reply, others = 0, 1, 2 // indexes of the acceptor's records; the last one is the acceptor's own GET

	incarnation, connType = 32, 48
	handle, sinkLength    = 24 + 32, 24 + 64
	features, sequence    = 24 + 72 + 4, 24 + 72 + 16 + 8
	status                = 24 + 72 + 40
)

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name   string
		from   replay.Side
		record int
		at     int  // offset of the changed byte
		flip   byte // bits of the byte that are changed
		want   error
	}{
		{"request", dialled, request, 8, 1, replay.ErrDiffers},
		{"incarnation of HELLO", dialled, hello, incarnation, 1, nil},
		{"type of HELLO", dialled, hello, connType, 1, replay.ErrDiffers},
		{"destination of HELLO", accepted, acceptorHello, 16, 1, replay.ErrDiffers},
		{"handle of GET", dialled, get, handle, 1, nil},
		{"last byte of the handle", dialled, get, handle + 15, 1, nil},
		{"match bits", dialled, get, handle + 16, 1, replay.ErrDiffers},
		{"sink length", dialled, get, sinkLength, 1, replay.ErrDiffers},
		{"type of GET", dialled, get, 24 + 24, 1, replay.ErrDiffers},
		{"checksum of v3", dialled, get, 4, 1, replay.ErrDiffers},
		{"cookie", dialled, get, 8, 1, replay.ErrDiffers},
		{"handle of REPLY", accepted, reply, handle, 1, replay.ErrDiffers},
		{"sequence number", accepted, reply, sequence, 1, nil},
		{"features", accepted, reply, features, 0x18, replay.ErrDiffers},
		{"status", accepted, reply, status, 1, replay.ErrDiffers},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := recordsOf(t, "tcp-ping", test.from)
			got := changed(t, all, test.from, test.record, func(b []byte) { b[test.at] ^= test.flip })
			if err := new(replay.Differences).Check(all[test.record], got); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestCheckIncarnation(t *testing.T) {
	all := recordsOf(t, "tcp-ping", dialled)
	var d replay.Differences
	if err := d.Check(all[hello], all[hello]); err != nil {
		t.Fatal(err)
	}
	another := changed(t, all, dialled, hello, func(b []byte) { b[incarnation] ^= 1 })
	if err := d.Check(all[hello], another); !errors.Is(err, replay.ErrIncarnation) {
		t.Errorf("another incarnation: %v, want %v", err, replay.ErrIncarnation)
	}
	none := changed(t, all, dialled, hello, func(b []byte) { clear(b[incarnation:][:8]) })
	if err := new(replay.Differences).Check(all[hello], none); !errors.Is(err, replay.ErrIncarnation) {
		t.Errorf("no incarnation: %v, want %v", err, replay.ErrIncarnation)
	}
}

// TestCheckSequence: the sequence numbers of a node may differ from the recorded ones, but must
// rise exactly where the recorded ones rise.
func TestCheckSequence(t *testing.T) {
	all := recordsOf(t, "tcp-discover-push", accepted)
	pushes := slices.DeleteFunc(all, func(r *capture.Record) bool { return r.Header.Type != wire.Put || r.Kind != capture.Message })
	numbered := func(push int, n byte) *capture.Record {
		r := pushes[push].Clone()
		r.Payload[sequence-24-72] = n
		return r
	}
	for _, test := range []struct {
		name string
		of   [3]byte // the node's sequence numbers; the recorded ones are 2, 3, 4
		want error   // the error that the last record must cause
	}{
		{"others", [3]byte{7, 8, 20}, nil},
		{"the same again", [3]byte{7, 8, 8}, replay.ErrSequence},
		{"one goes back", [3]byte{7, 9, 8}, replay.ErrSequence},
	} {
		t.Run(test.name, func(t *testing.T) {
			var d replay.Differences
			for i, n := range test.of {
				err := d.Check(pushes[i], numbered(i, n))
				if last := i == len(test.of)-1; err != nil && !last || last && !errors.Is(err, test.want) {
					t.Errorf("push %d with %d: %v", i, n, err)
				}
			}
		})
	}
}

// TestCheckChecksum: if the checksum of a recorded record is correct, that of the node's record must be
// correct, too.
func TestCheckChecksum(t *testing.T) {
	all := recordsOf(t, "tcp-csum-v2-oneside", accepted)
	sum := func(b []byte) {
		k, rest, _ := ksock.ParseMsgHeader(b, false)
		k.Checksum = ksock.Checksum(k, rest)
		_, _ = k.AppendBinary(b[:0])
	}
	good := changed(t, all, accepted, reply, func(b []byte) { b[sequence]++; sum(b) })
	bad := changed(t, all, accepted, reply, func(b []byte) { b[4]++ })
	none := changed(t, all, accepted, reply, func(b []byte) { clear(b[4:8]) })
	for _, test := range []struct {
		name string
		node *capture.Record
		want error
	}{
		{"good", good, nil},
		{"bad", bad, replay.ErrChecksum},
		{"none", none, replay.ErrDiffers},
	} {
		if err := new(replay.Differences).Check(all[reply], test.node); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
}

// TestZeroCopy: the player sends only those zero-copy ACKs that the node has requested.
func TestZeroCopy(t *testing.T) {
	const cookie = 5
	asks := recordsOf(t, "tcp-ping", accepted)[reply].Clone()
	node := asks.Clone()
	asks.Ksock.Cookies[0] = cookie
	asks.Raw, _ = asks.AppendBinary(nil)
	noop := func(cookie uint64) *capture.Record {
		r := &capture.Record{Kind: capture.Noop, Framed: true, Ksock: ksock.NewNoop(cookie)}
		r.Raw, _ = r.AppendBinary(nil)
		return r
	}
	var d replay.Differences
	if b := d.Substitute(noop(cookie)); b == nil {
		t.Error("a NOOP for a cookie that is not known is left out")
	}
	if err := d.Check(asks, node); err != nil {
		t.Fatal(err)
	}
	if b := d.Substitute(noop(cookie)); b != nil {
		t.Errorf("a NOOP that the node does not wait for: % x", b)
	}
	if b := d.Substitute(noop(cookie + 1)); b == nil {
		t.Error("another NOOP is left out")
	}
	if err := new(replay.Differences).Check(node, asks); !errors.Is(err, replay.ErrDiffers) {
		t.Errorf("a node that asks where nobody did: %v", err)
	}
}

func TestSubstitute(t *testing.T) {
	dials, accepts := recordsOf(t, "tcp-ping", dialled), recordsOf(t, "tcp-ping", accepted)
	var d replay.Differences
	own := changed(t, dials, dialled, get, func(b []byte) { copy(b[handle:], "the node's own..") })
	if err := d.Check(dials[get], own); err != nil {
		t.Fatal(err)
	}
	want := bytes.Clone(accepts[reply].Raw)
	copy(want[handle:], "the node's own..")
	recorded := bytes.Clone(accepts[reply].Raw)
	if diff := cmp.Diff(want, d.Substitute(accepts[reply])); diff != "" {
		t.Errorf("REPLY (-want +got):\n%s", diff)
	}
	if !bytes.Equal(recorded, accepts[reply].Raw) {
		t.Error("the recording was changed")
	}
	for _, r := range []*capture.Record{dials[request], dials[hello], accepts[others], dials[3]} {
		if got := d.Substitute(r); !bytes.Equal(got, r.Raw) {
			t.Errorf("%s without a handle of the node was changed", r.Type())
		}
	}
}

// TestSubstituteChecksum: a record that the player changes gets a correct checksum.
func TestSubstituteChecksum(t *testing.T) {
	dials, accepts := recordsOf(t, "tcp-csum-v2-oneside", dialled), recordsOf(t, "tcp-csum-v2-oneside", accepted)
	var d replay.Differences
	own := changed(t, dials, dialled, get, func(b []byte) { copy(b[handle:], "the node's own..") })
	if err := d.Check(dials[get], own); err != nil {
		t.Fatal(err)
	}
	b := d.Substitute(accepts[reply])
	if k, rest, _ := ksock.ParseMsgHeader(b, false); k.Checksum == accepts[reply].Ksock.Checksum || k.Checksum != ksock.Checksum(k, rest) {
		t.Errorf("checksum %#x", k.Checksum)
	}
}

// TestPush: a push may differ in its handle and sequence number, and its ACK gets the node's
// handle.
func TestPush(t *testing.T) {
	const pushed = 3 // index of the record after the GET
	dials := recordsOf(t, "tcp-discover", dialled)
	own := func(b []byte) { copy(b[handle:], "the node's own.."); b[sequence] ^= 1 }
	var d replay.Differences
	if err := d.Check(dials[pushed], changed(t, dials, dialled, pushed, own)); err != nil {
		t.Fatal(err)
	}
	other := changed(t, dials, dialled, pushed, func(b []byte) { own(b); b[features] ^= 1 })
	if d.Check(dials[pushed], other) == nil {
		t.Error("other features are no difference")
	}
	for _, r := range recordsOf(t, "tcp-discover", accepted) {
		if r.Type() != "ACK" {
			continue
		}
		if got := d.Substitute(r); string(got[handle:][:16]) != "the node's own.." {
			t.Errorf("ACK has the handle %q", got[handle:][:16])
		}
	}
}

func TestIsRefusal(t *testing.T) {
	b := recordsOf(t, "tcp-ping", accepted)[acceptorHello].Raw
	if replay.IsRefusal(b) {
		t.Error("a HELLO of type CONTROL refuses")
	}
	refusal := bytes.Clone(b)
	copy(refusal[connType:], "\xff\xff\xff\xff")
	if !replay.IsRefusal(refusal) {
		t.Error("a HELLO of type NONE does not refuse")
	}
	if replay.IsRefusal(refusal[:16]) {
		t.Error("part of a HELLO refuses")
	}
}
