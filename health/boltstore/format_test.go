package boltstore

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnet/nid"
)

// TestFormat: the bytes of version 1 of the format, which later versions have to read.
func TestFormat(t *testing.T) {
	r := health.Record{
		Client: health.ClientID{0xC1, 15: 0x1C}, Incarnation: 0x0102030405060708, Epoch: 0x0A0B0C0D, Master: master,
		Peer: nid.ProcessID{NID: nid.MustParse("10.0.0.9@tcp3"), PID: nid.LustrePID}, Name: "ab", Export: []byte{0xEE},
	}
	b, err := appendRecord(nil, &r)
	const want = "c100000000000000000000000000001c" + "0807060504030201" + "0d0c0b0a" + "39300000" +
		"000200000a000001000000000000000000000000" + "000200030a000009000000000000000000000000" +
		"02" + "6162" + "01000000" + "ee" + "ff584924"
	if got := hex.EncodeToString(b); err != nil || got != want {
		t.Errorf("record %s, %v\nwant   %s", got, err, want)
	}
	key, value, err := tombstone(&health.Tombstone{Client: r.Client, Incarnation: 7, Until: time.Unix(1, 2)})
	const wantTombstone = "000000003b9aca02" + "c100000000000000000000000000001c" + " " + "0700000000000000" + "a769d882"
	if got := hex.EncodeToString(key) + " " + hex.EncodeToString(value); err != nil || got != wantTombstone {
		t.Errorf("tombstone %s, %v\nwant      %s", got, err, wantTombstone)
	}
	const wantTally = "070000000000000008000000000000000900000000000000" + "8d6cc22f"
	if got := hex.EncodeToString(appendCounts(nil, counts{commit: 7, clients: 8, tombstones: 9, epochs: 10})); got != wantTally {
		t.Errorf("tally %s\nwant  %s", got, wantTally)
	}
	const wantEpoch = "0d0c0b0a" + "f6282f43"
	if got := hex.EncodeToString(appendEpoch(nil, key, 0x0A0B0C0D)); got != wantEpoch {
		t.Errorf("epoch %s\nwant  %s", got, wantEpoch)
	}
	const wantEpochs = "07000000000000000a00000000000000" + "66a8cf47"
	if got := hex.EncodeToString(appendEpochs(nil, counts{commit: 7, clients: 8, tombstones: 9, epochs: 10})); got != wantEpochs {
		t.Errorf("number of epochs %s\nwant             %s", got, wantEpochs)
	}
	for n := range b {
		if _, err := parseRecord(b[:n]); !errors.Is(err, errDamaged) {
			t.Errorf("%d bytes of a record: %v", n, err)
		}
	}
	for i := range 8 * len(b) {
		b[i/8] ^= 1 << (i % 8)
		if _, err := parseRecord(b); !errors.Is(err, errDamaged) {
			t.Errorf("bit %d of a record: %v", i, err)
		}
		b[i/8] ^= 1 << (i % 8)
	}
	for i := range 8 * len(key) {
		key[i/8] ^= 1 << (i % 8)
		if _, err := parseTombstone(key, value); !errors.Is(err, errDamaged) {
			t.Errorf("bit %d of the key of a tombstone: %v", i, err)
		}
		key[i/8] ^= 1 << (i % 8)
	}
}

// FuzzRecord: any bytes either decode as a record or give an error, and a decoded record is
// encoded to the same bytes.
func FuzzRecord(f *testing.F) {
	for n := range 3 {
		r := record(n, 1)
		b, _ := appendRecord(nil, &r)
		f.Add(b[:len(b)-crcSize])
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseRecord(sealed(body))
		if err != nil {
			if !errors.Is(err, errDamaged) {
				t.Fatalf("error %v is none of ours", err)
			}
			return
		}
		b, err := appendRecord(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseRecord(b)
		if err != nil || again.Client != r.Client || again.Name != r.Name || again.Peer != r.Peer || again.Master != r.Master {
			t.Fatalf("%+v became %+v, %v", r, again, err)
		}
	})
}

// sealed appends a valid checksum to the body of a record, so that the decoder examines the body.
func sealed(body []byte) []byte {
	b := append([]byte(nil), body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// FuzzTombstone: tombstones are parsed and written back unchanged.
func FuzzTombstone(f *testing.F) {
	key, value, _ := tombstone(&health.Tombstone{Client: id(1), Incarnation: 7, Until: time.Unix(1, 2)})
	f.Add(key, value)
	f.Fuzz(func(t *testing.T, key, value []byte) {
		g, err := parseTombstone(key, value)
		if err != nil {
			if !errors.Is(err, errDamaged) {
				t.Fatalf("error %v is none of ours", err)
			}
			return
		}
		k, v, err := tombstone(&g)
		if err != nil || string(k) != string(key) || string(v) != string(value) {
			t.Fatalf("%+v became %x %x, %v", g, k, v, err)
		}
	})
}
