package wire_test

import (
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

func destination(i int) wire.Destination {
	return wire.Destination{NID: nid.FromNumber(nid.MustParse("10.0.0.1@tcp").Net(), uint32(i+1)), PID: 12345}
}

// TestDestinations: lists are written and read in both byte orders, up to the length that
// arrives whole.
func TestDestinations(t *testing.T) {
	spec.Covers(t, "ST-7")
	var list []wire.Destination
	for i := range wire.MaxDestinations {
		list = append(list, destination(i))
	}
	for big, want := range map[bool]string{false: "0100000000000200" + "39300000", true: "0002000000000001" + "00003039"} {
		b, err := wire.AppendDestinations([]byte("kept"), list, big)
		if err != nil || len(b) != 4+wire.MaxDestinations*wire.DestinationSize || hex.EncodeToString(b[4:4+wire.DestinationSize]) != want {
			t.Errorf("%d bytes, %v: % x", len(b), err, b[:16])
		}
		if back, err := wire.ParseDestinations(b[4:], len(list), big); err != nil || !slices.Equal(back, list) {
			t.Errorf("%d entries, %v", len(back), err)
		}
	}
	if b, err := wire.AppendDestinations([]byte("kept"), append(list, list[0]), false); !errors.Is(err, wire.ErrDestinations) || string(b) != "kept" {
		t.Errorf("too many: %d bytes, %v", len(b), err)
	}
	for _, text := range []string{"fd88::2@tcp", ""} {
		bad := wire.Destination{PID: 1}
		if text != "" {
			bad.NID = nid.MustParse(text)
		}
		if b, err := wire.AppendDestinations([]byte("kept"), []wire.Destination{list[0], bad}, false); !errors.Is(err, wire.ErrNID) || string(b) != "kept" {
			t.Errorf("%v: %d bytes, %v", bad, len(b), err)
		}
	}
}

// TestLongDestinations: a console has its list in pages with 4 unused bytes at the end of each, but
// sends 12 bytes for each entry, so the end of a long list does not arrive. The parser returns the
// entries that have arrived.
func TestLongDestinations(t *testing.T) {
	spec.Covers(t, "ST-7")
	const pageSize, count = 4096, 2 * wire.MaxDestinations
	pages := make([]byte, 2*pageSize)
	for i := range count {
		b, err := wire.AppendDestinations(nil, []wire.Destination{destination(i)}, false)
		if err != nil {
			t.Fatal(err)
		}
		copy(pages[i/wire.MaxDestinations*pageSize+i%wire.MaxDestinations*wire.DestinationSize:], b)
	}
	list, err := wire.ParseDestinations(pages[:count*wire.DestinationSize], count, false)
	if err != nil || len(list) != count-1 || list[count-2] != destination(count-2) {
		t.Errorf("%d entries, %v", len(list), err)
	}
	if list, err = wire.ParseDestinations(make([]byte, 3*wire.DestinationSize), 3, false); !errors.Is(err, wire.ErrNID) || len(list) != 0 {
		t.Errorf("no NID: %v, %v", list, err)
	}
	if list, err = wire.ParseDestinations(nil, 1<<20, false); err != nil || len(list) != 0 || cap(list) != 0 {
		t.Errorf("an empty list: %v, %v", list, err)
	}
}
