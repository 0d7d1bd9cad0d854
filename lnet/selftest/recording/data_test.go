package recording

import (
	"bytes"
	"testing"

	"ulnet/lnet/selftest/wire"
)

// TestAdaptData: AdaptData returns our bytes where the recorded check reads nothing, and the recorded
// bytes for data of which no request is known. Data that arrive in parts give the same result as data
// that arrive whole.
func TestAdaptData(t *testing.T) {
	const size = 2*page + 64
	recorded, ours := bytes.Repeat([]byte{1}, size), bytes.Repeat([]byte{2}, size)
	simple := bytes.Clone(ours)
	for _, at := range []int{0, page - word, page, 2*page - word, 2 * page} {
		copy(simple[at:at+word], recorded)
	}
	for check, want := range map[wire.Check][]byte{wire.CheckNone: ours, wire.CheckSimple: simple, wire.CheckFull: recorded, 0: recorded} {
		var d Differences
		if check != 0 {
			d.noteBulk(&wire.Message{ReplyID: 6, Body: &wire.BRW{BulkID: 7, Check: check}})
			if got := d.RPC(7); got != 6 {
				t.Errorf("data of %#x", got)
			}
		}
		for _, part := range []int{word, 1024, page, size} {
			var got []byte
			for at := 0; at < size; at += part {
				end := min(at+part, size)
				got = append(got, d.AdaptData(7, at, recorded[at:end], ours[at:end])...)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("check %v in parts of %d bytes differs", check, part)
			}
		}
		if got := d.AdaptData(7, 0, recorded, ours[1:]); !bytes.Equal(got, recorded) {
			t.Errorf("check %v: data of another length are allowed", check)
		}
	}
}

// TestNumbersRepeat: a number that our node has used before is refused, for replies and for data.
func TestNumbersRepeat(t *testing.T) {
	message := func(reply, bulk uint64) []byte {
		m := wire.Message{ReplyID: reply, Body: &wire.BRW{BulkID: bulk, Op: wire.Read, Length: page, Check: wire.CheckFull}}
		m.Type = wire.TypeBRW
		b, err := m.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var d Differences
	d.Note(message(1, 2), message(11, 12))
	for _, tt := range []struct {
		reply, bulk uint64
		good        bool
	}{{13, 14, true}, {11, 14, false}, {13, 12, false}, {12, 14, false}, {13, 11, false}, {13, 13, false}} {
		if _, err := d.Adapt(message(3, 4), message(tt.reply, tt.bulk)); (err == nil) != tt.good {
			t.Errorf("%d and %d: %v", tt.reply, tt.bulk, err)
		}
	}
}
