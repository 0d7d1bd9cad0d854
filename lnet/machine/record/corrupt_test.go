package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"ulnet/lnet/machine"
)

// sum is a machine that adds up its inputs, which are encoded as they are.
type sum struct{ total byte }

type raw struct{}

func (raw) AppendIn(b, in []byte) []byte                    { return append(b, in...) }
func (raw) ParseIn(b []byte) ([]byte, error)                { return b, nil }
func (raw) AppendOut(b []byte, out *[]byte) []byte          { return append(b, *out...) }
func bootSum(Boot) (machine.Machine[[]byte, []byte], error) { return new(sum), nil }

func (s *sum) Step(now time.Duration, in []byte, out *[]byte) time.Duration {
	for _, c := range in {
		s.total += c
	}
	if s.total != 0 {
		*out = append(*out, s.total)
	}
	return now + time.Duration(s.total) + 1
}

// seal makes blocks of contents with correct lengths and digests, so that only the contents
// can be wrong.
func seal(contents ...[]byte) []byte {
	var file []byte
	var d uint64
	for _, c := range contents {
		d = digest(d, c)
		file = append(file, magic...)
		file = binary.LittleEndian.AppendUint32(file, uint32(len(c)))
		file = binary.LittleEndian.AppendUint64(file, d)
		file = append(file, c...)
	}
	return file
}

func replaySum(b []byte) (Result, error) { return Replay(bytes.NewReader(b), raw{}, bootSum) }

// recordSums makes a recording with blocks of three steps.
func recordSums(t testing.TB, mode Mode) []byte {
	t.Helper()
	var file bytes.Buffer
	rec := New(&file, raw{}, mode, []byte("config"))
	m := []machine.Machine[[]byte, []byte]{rec.Boot(0, 0, nil, new(sum)), rec.Boot(1, 0, nil, new(sum))}
	for n := range 12 {
		m[n%2].Step(time.Duration(n)*time.Millisecond, bytes.Repeat([]byte{byte(n)}, n*n), new([]byte))
		if n%3 == 2 {
			if err := rec.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// TestTruncated: the remaining blocks of a truncated recording are replayed.
func TestTruncated(t *testing.T) {
	file := recordSums(t, Full)
	first := frameSize + 1 + len("config")
	seen := map[uint64]bool{}
	for size := range file {
		res, err := replaySum(file[:size])
		switch {
		case !res.Truncated:
			t.Fatalf("%d bytes: not truncated", size)
		case size < first && !errors.Is(err, errCorrupt), size >= first && err != nil:
			t.Fatalf("%d bytes: %v", size, err)
		}
		seen[res.Steps] = true
	}
	for n := range uint64(5) {
		if !seen[n*3] || len(seen) != 5 {
			t.Errorf("replayed %v steps, want 0, 3, 6, 9 and 12", seen)
		}
	}
}

// TestFlippedBits checks that every flipped bit is detected.
func TestFlippedBits(t *testing.T) {
	for _, mode := range []Mode{Full, Digests} {
		file := recordSums(t, mode)
		for bit := range len(file) * 8 {
			file[bit/8] ^= 1 << (bit % 8)
			// A larger length looks like a block that was cut off.
			if res, err := replaySum(file); !errors.Is(err, errCorrupt) && !res.Truncated {
				t.Fatalf("bit %d of byte %d: %+v, %v", bit%8, bit/8, res, err)
			}
			file[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// TestRecords checks what Replay returns for blocks with correct lengths and digests, of which some
// have contents that no Recorder writes.
func TestRecords(t *testing.T) {
	config := []byte{byte(Full), 'c'}
	boot := []byte{1, 0, 0, 0}
	step := []byte{2, 2, 1, 5, 7, 1, 5} // 1ns later, input 5, wake 6ns after, output 5
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}
	join := func(b ...[]byte) []byte { return bytes.Join(b, nil) }
	for name, c := range map[string]struct {
		file  []byte
		steps uint64
		err   error
	}{
		"good":                  {seal(config, join(boot, step, []byte{0, 1})), 1, nil},
		"empty block":           {seal(config, nil, boot, nil, step, []byte{0, 1}), 1, nil},
		"no config":             {seal([]byte{byte(Digests)}, []byte{0, 0}), 0, nil},
		"no mode":               {seal(nil, []byte{0, 0}), 0, errCorrupt},
		"unknown mode":          {seal([]byte{2}, []byte{0, 0}), 0, errCorrupt},
		"not booted":            {seal(config, step), 0, errCorrupt},
		"step number":           {seal(config, join(boot, step, []byte{0, 2})), 1, errCorrupt},
		"end and more":          {seal(config, []byte{0, 0, 0}), 0, errCorrupt},
		"end cut":               {seal(config, []byte{0}), 0, errCorrupt},
		"boot cut":              {seal(config, boot[:3]), 0, errCorrupt},
		"long bytes":            {seal(config, []byte{1, 0, 0, 1}), 0, errCorrupt},
		"huge bytes":            {seal(config, join([]byte{1, 0, 0}, huge)), 0, errCorrupt},
		"varint too long":       {seal(config, join(huge[:9], []byte{2})), 0, errCorrupt},
		"step cut in now":       {seal(config, join(boot, step[:1])), 0, errCorrupt},
		"step cut in input":     {seal(config, join(boot, step[:3])), 0, errCorrupt},
		"step cut behind wake":  {seal(config, join(boot, step[:5])), 0, errCorrupt},
		"step cut in output":    {seal(config, join(boot, step[:6])), 0, errCorrupt},
		"now decreases":         {seal(config, join(boot, step, []byte{2, 1, 0, 7, 1, 5})), 1, errCorrupt},
		"now begins before 0":   {seal(config, join(boot, []byte{2, 1, 0, 2, 0}, []byte{0, 1})), 1, nil},
		"the clock starts anew": {seal(config, join(boot, step, boot, []byte{2, 1, 0, 2, 0}, []byte{0, 2})), 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := replaySum(c.file)
			if res.Steps != c.steps || !errors.Is(err, c.err) || (err != nil) != (c.err != nil) || res.Truncated {
				t.Errorf("%+v, error %v, want %d steps and error %v", res, err, c.steps, c.err)
			}
		})
	}
	if _, err := replaySum([]byte("not a recording at all")); !errors.Is(err, errCorrupt) {
		t.Error("text:", err)
	}
}

// FuzzReplay replays recordings with any content.
func FuzzReplay(f *testing.F) {
	f.Add(recordSums(f, Full))
	f.Add(recordSums(f, Digests))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = replaySum(b) })
}

// FuzzRecords replays any content in blocks with correct lengths and digests.
func FuzzRecords(f *testing.F) {
	for _, mode := range []Mode{Full, Digests} {
		file := recordSums(f, mode)
		f.Add(byte(mode), file[2*frameSize+1+len("config"):])
	}
	f.Add(byte(Full), []byte{1, 0, 0, 0, 2, 2, 1, 5, 7, 1, 5, 0, 1})
	f.Fuzz(func(t *testing.T, mode byte, b []byte) {
		res, err := replaySum(seal([]byte{mode}, b))
		if res.Steps > uint64(len(b)) {
			t.Errorf("%d steps in %d bytes", res.Steps, len(b))
		}
		if again, err2 := replaySum(seal([]byte{mode}, b)); again != res || (err == nil) != (err2 == nil) {
			t.Errorf("%+v %v, then %+v %v", res, err, again, err2)
		}
	})
}
