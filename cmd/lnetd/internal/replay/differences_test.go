package replay_test

import (
	"bytes"
	"errors"
	"testing"

	"ulnet/cmd/lnetd/internal/replay"
)

// records returns the records of a side on the first connection of tcp-ping.
func records(t *testing.T, from replay.Side) [][]byte { return recordsOf(t, "tcp-ping", from) }

func recordsOf(t *testing.T, name string, from replay.Side) (all [][]byte) {
	t.Helper()
	for _, e := range load(t, name).Events {
		if e.Kind == replay.Data && e.Conn == 0 && e.From == from {
			all = append(all, e.Data)
		}
	}
	return all
}

// Offsets in the records, and the records of each side.
const (
	incarnation, connType       = 32, 48
	handle, sinkLength          = 24 + 32, 24 + 64
	features, sequence          = 24 + 72 + 4, 24 + 72 + 16 + 8
	request, hello, get         = 0, 1, 2 // of the initiator
	acceptorHello, reply, other = 0, 1, 2 // of the acceptor: other is its GET
)

func TestCheck(t *testing.T) {
	dialled, accepted := records(t, replay.Initiator), records(t, replay.Acceptor)
	for _, test := range []struct {
		name   string
		record []byte
		at     int  // offset of the byte that the node has in another way
		flip   byte // what is different in it
		any    bool // AnySink
		want   error
	}{
		{"request", dialled[request], 8, 1, false, replay.ErrDiffers},
		{"incarnation of HELLO", dialled[hello], incarnation, 1, false, nil},
		{"type of HELLO", dialled[hello], connType, 1, false, replay.ErrDiffers},
		{"magic of HELLO", dialled[hello], 0, 1, false, replay.ErrDiffers},
		{"handle of GET", dialled[get], handle, 1, false, nil},
		{"last byte of the handle", dialled[get], handle + 15, 1, false, nil},
		{"match bits", dialled[get], handle + 16, 1, false, replay.ErrDiffers},
		{"sink length", dialled[get], sinkLength, 1, false, replay.ErrDiffers},
		{"sink length of another command", dialled[get], sinkLength, 1, true, nil},
		{"type of GET", dialled[get], 24 + 24, 1, true, replay.ErrDiffers},
		{"handle of REPLY", accepted[reply], handle, 1, false, replay.ErrDiffers},
		{"sequence number", accepted[reply], sequence, 1, false, nil},
		{"features", accepted[reply], features, 0x18, false, replay.ErrDiffers},
		{"status", accepted[reply], len(accepted[reply]) - 8, 1, false, replay.ErrDiffers},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := replay.Differences{AnySink: test.any}
			got := bytes.Clone(test.record)
			got[test.at] ^= test.flip
			if err := d.Check(test.record, got); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if err := d.Check(test.record, got[:len(got)-1]); !errors.Is(err, replay.ErrDiffers) {
				t.Errorf("cut record: got %v, want %v", err, replay.ErrDiffers)
			}
		})
	}
}

func TestCheckIncarnation(t *testing.T) {
	var d replay.Differences
	want := records(t, replay.Initiator)[hello]
	if err := d.Check(want, want); err != nil {
		t.Fatal(err)
	}
	another := bytes.Clone(want)
	another[incarnation] ^= 1
	if err := d.Check(want, another); !errors.Is(err, replay.ErrIncarnation) {
		t.Errorf("another incarnation: %v, want %v", err, replay.ErrIncarnation)
	}
	clear(another[incarnation:][:8])
	if err := new(replay.Differences).Check(want, another); !errors.Is(err, replay.ErrIncarnation) {
		t.Errorf("no incarnation: %v, want %v", err, replay.ErrIncarnation)
	}
}

func TestSubstitute(t *testing.T) {
	dialled, accepted := records(t, replay.Initiator), records(t, replay.Acceptor)
	var d replay.Differences
	own := bytes.Clone(dialled[get])
	copy(own[handle:], "the node's own..")
	if err := d.Check(dialled[get], own); err != nil {
		t.Fatal(err)
	}
	want := bytes.Clone(accepted[reply])
	copy(want[handle:], "the node's own..")
	recorded := bytes.Clone(accepted[reply])
	if got := d.Substitute(recorded); !bytes.Equal(got, want) {
		t.Errorf("REPLY has the handle %q", got[handle:][:16])
	}
	if !bytes.Equal(recorded, accepted[reply]) {
		t.Error("the recording was changed")
	}
	for _, b := range [][]byte{dialled[request], dialled[hello], accepted[other], dialled[3]} {
		if got := d.Substitute(b); !bytes.Equal(got, b) {
			t.Errorf("a record of %d bytes without a handle of the node was changed", len(b))
		}
	}
}

// TestPush: a push differs in its handle and sequence number; an ACK is
// substituted behind another message of its record, too.
func TestPush(t *testing.T) {
	const pushed, answered = 3, 2 // in tcp-discover: after the GET, after the REPLY
	push := recordsOf(t, "tcp-discover", replay.Initiator)[pushed]
	both := recordsOf(t, "tcp-discover", replay.Acceptor)[answered]
	var d replay.Differences
	own := bytes.Clone(push)
	copy(own[handle:], "the node's own..")
	own[sequence] ^= 1
	if err := d.Check(push, own); err != nil {
		t.Fatal(err)
	}
	if own[features] ^= 1; d.Check(push, own) == nil {
		t.Error("other features are no difference")
	}
	want := bytes.Clone(both)
	ack := len(both) - (24 + 72)
	copy(want[ack+handle:], "the node's own..")
	if got := d.Substitute(both); !bytes.Equal(got, want) {
		t.Errorf("ACK has the handle %q", got[ack+handle:][:16])
	}
}

func TestIsRefusal(t *testing.T) {
	b := records(t, replay.Acceptor)[acceptorHello]
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
