package record_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/machine"
	"ulnet/lnet/machine/record"
)

var modes = map[string]record.Mode{"full": record.Full, "digests": record.Digests}

func TestReplay(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			file, digest := recordRun(t, mode, 300, 5000)
			again, same := recordRun(t, mode, 300, 5000)
			if digest != same || !bytes.Equal(file, again) {
				t.Error("the same steps were recorded in two ways")
			}
			res, err := replay(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(record.Result{Steps: 5000, Digest: digest}, res); diff != "" {
				t.Error("result (-want +got):\n", diff)
			}
			t.Logf("%d bytes a step", len(file)/5000)
		})
	}
}

// TestFormat fixes the bytes of a recording of version 1.
func TestFormat(t *testing.T) {
	var file bytes.Buffer
	rec := record.New(&file, codec{}, record.Full, []byte{salt, 'c'})
	m := rec.Boot(300, 2, []byte("kept"), &relay{salt: salt})
	var out output
	m.Step(time.Microsecond, nil, &out)
	out.Reset()
	m.Step(time.Microsecond+1, input{9}, &out)
	out.Reset()
	m.Step(time.Microsecond+1, input{240}, &out)
	if _, err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"554c5301", "03000000", "a769a39c4839066a", "00", "0763", // mode and Config
		"554c5301", "38000000", "03e8001da92b6a99",
		"01", "ac02", "02", "04", "6b657074", // boot of machine 300, incarnation 2, which kept "kept"
		"ae02", "d00f", "00", "81897a", "09", "070100000000000000", // step at 1 µs: no input, wake 2 ms later, output
		"ae02", "02", "0109", "81bd8314", "0a", "07290000000000000009", // step 1 ns later: input, wake 42 ms later, output
		"ae02", "00", "01f0", "00", "00", // step at the same time: input, wake Never, no output
		"00", "03", // end, after 3 steps
	}
	if diff := cmp.Diff(strings.Join(want, ""), hex.EncodeToString(file.Bytes())); diff != "" {
		t.Error("recording (-want +got):\n", diff)
	}
	if res, err := replay(file.Bytes()); err != nil || res.Steps != 3 {
		t.Error("replay:", res, err)
	}
}

// TestDifference: Replay finds a machine that answers in another way, and reports the step.
func TestDifference(t *testing.T) {
	const wrong = 1234
	answers := map[string]struct {
		spoil func(wake time.Duration, out *output) time.Duration
		text  string // text of the difference in mode Full
	}{
		"wake":        {func(w time.Duration, _ *output) time.Duration { return w + 1 }, "wake is "},
		"no wake":     {func(time.Duration, *output) time.Duration { return machine.Never }, "wake is 2562047h47m16.854775807s, recorded "},
		"output":      {func(w time.Duration, o *output) time.Duration { o.bytes[3]++; return w }, "output from byte 3 is "},
		"less output": {func(w time.Duration, o *output) time.Duration { o.sends[0].to -= 2; return w }, "output from byte 7 is , recorded 0000"},
		"more output": {func(w time.Duration, o *output) time.Duration { o.sends = append(o.sends, span{0, 1}); return w }, "output from byte 9 is 07, recorded "},
	}
	for mode, m := range modes {
		for name, a := range answers {
			t.Run(name+", "+mode, func(t *testing.T) {
				file := spoilable(t, m)
				steps := 0
				res, err := record.Replay(bytes.NewReader(file), codec{}, func(record.Boot) (machine.Machine[input, output], error) {
					return stepFunc(func(now time.Duration, in input, out *output) time.Duration {
						wake := answer(now, out)
						if steps++; steps == wrong {
							wake = a.spoil(wake, out)
						}
						return wake
					}), nil
				})
				diff, ok := errors.AsType[*record.DiffError](err)
				if !ok || diff.Step != wrong || diff.ID != 5 || diff.Incarnation != 1 || diff.Now != wrong*time.Second || res.Steps != wrong {
					t.Fatalf("result %+v, error %+v", res, err)
				}
				if want := "step 1234 at 20m34s of machine 5 in incarnation 1: "; !strings.HasPrefix(err.Error(), want) {
					t.Errorf("error %q, want %q", err, want)
				}
				if m == record.Full && !strings.Contains(err.Error(), a.text) {
					t.Errorf("error %q, want %q in it", err, a.text)
				}
			})
		}
	}
}

type stepFunc func(now time.Duration, in input, out *output) time.Duration

func (f stepFunc) Step(now time.Duration, in input, out *output) time.Duration {
	return f(now, in, out)
}

// answer gives the same output in every step.
func answer(now time.Duration, out *output) time.Duration {
	out.bytes = append(out.bytes, 7, 0, 0, 0, 0, 0, 0, 0, 0)
	out.sends = append(out.sends, span{0, len(out.bytes)})
	return now + time.Second
}

func spoilable(t *testing.T, mode record.Mode) []byte {
	var file bytes.Buffer
	rec := record.New(&file, codec{}, mode, nil)
	m := rec.Boot(5, 1, nil, stepFunc(func(now time.Duration, _ input, out *output) time.Duration { return answer(now, out) }))
	var out output
	for n := range 2000 {
		out.Reset()
		m.Step(time.Duration(n+1)*time.Second, nil, &out)
	}
	if _, err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// TestPanic: a step panics before Flush was called. Its input is in the recording all the same, and makes the
// replayed step panic too.
func TestPanic(t *testing.T) {
	var file bytes.Buffer
	rec := record.New(&file, codec{}, record.Full, []byte{salt})
	broken := &relay{salt: salt, fail: func(sum uint64) {
		if sum > 100 {
			panic("sum")
		}
	}}
	m := rec.Boot(1, 0, nil, broken)
	panics := func(f func()) (what any) {
		defer func() { what = recover() }()
		f()
		return nil
	}
	var out output
	m.Step(1, input{50}, &out)
	if panics(func() { out.Reset(); m.Step(2, input{50}, &out) }) != "sum" {
		t.Fatal("no panic")
	}
	again := panics(func() {
		_, _ = record.Replay(bytes.NewReader(file.Bytes()), codec{}, func(record.Boot) (machine.Machine[input, output], error) {
			return &relay{salt: salt, fail: broken.fail}, nil
		})
	})
	if again != "sum" {
		t.Error("did not panic in the replay")
	}
	_, err := replay(file.Bytes())
	if diff, ok := errors.AsType[*record.DiffError](err); !ok || !diff.Panicked || diff.Step != 2 || !strings.Contains(err.Error(), "no panic") {
		t.Errorf("error %v of a machine that was mended", err)
	}
}

type failingWriter struct{ writes, good int }

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.writes++; w.writes > w.good {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

// TestWriteError: the machine goes on after an error of the writer.
func TestWriteError(t *testing.T) {
	for good := range 3 {
		w := &failingWriter{good: good}
		rec := record.New(w, codec{}, record.Full, nil)
		plain, m := &relay{}, rec.Boot(0, 0, nil, &relay{})
		var out, want output
		for n := range 10000 {
			out.Reset()
			want.Reset()
			in := input(fmt.Sprint("input ", n))
			wake := plain.Step(time.Duration(n), in, &want)
			if got := m.Step(time.Duration(n), in, &out); got != wake || !bytes.Equal(out.bytes, want.bytes) {
				t.Fatal("the recorded machine answers otherwise")
			}
		}
		if err := rec.Flush(); !errors.Is(err, io.ErrClosedPipe) {
			t.Error("Flush returned", err)
		}
		if _, err := rec.Close(); !errors.Is(err, io.ErrClosedPipe) || w.writes != good+1 {
			t.Errorf("%d writes, Close returned %v", w.writes, err)
		}
	}
}

// TestClosed checks that steps after Close are not recorded.
func TestClosed(t *testing.T) {
	var file bytes.Buffer
	rec := record.New(&file, codec{}, record.Full, []byte{salt})
	m := rec.Boot(0, 0, nil, &relay{salt: salt})
	if _, err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	size := file.Len()
	m.Step(1, make(input, 1<<20), new(output))
	if _, err := rec.Close(); err == nil || file.Len() != size {
		t.Errorf("%d bytes after the end, error %v", file.Len()-size, err)
	}
}

func TestErrorsOfUser(t *testing.T) {
	var file bytes.Buffer
	rec := record.New(&file, codec{}, record.Full, []byte{salt})
	rec.Boot(9, 3, nil, &relay{salt: salt}).Step(1, input("bad"), new(output))
	if err := rec.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := replay(file.Bytes()); !errors.Is(err, errInput) || !strings.Contains(err.Error(), "input of step 1") {
		t.Error("parse error became", err)
	}
	_, err := record.Replay(bytes.NewReader(file.Bytes()), codec{}, func(record.Boot) (machine.Machine[input, output], error) {
		return nil, io.ErrNoProgress
	})
	if !errors.Is(err, io.ErrNoProgress) || !strings.Contains(err.Error(), "machine 9 incarnation 3") {
		t.Error("boot error became", err)
	}
	if _, err := record.Replay(failingReader{}, codec{}, boot); !errors.Is(err, io.ErrClosedPipe) {
		t.Error("read error became", err)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestBehindTheEnd: Replay reads nothing behind the end of a recording, so recordings may follow each other
// in one file.
func TestBehindTheEnd(t *testing.T) {
	file, digest := recordRun(t, record.Full, 2, 10)
	r := bytes.NewReader(append(bytes.Clone(file), file...))
	for range 2 {
		if res, err := record.Replay(r, codec{}, boot); err != nil || res.Digest != digest {
			t.Error(res, err)
		}
	}
	if r.Len() != 0 {
		t.Error(r.Len(), "bytes left")
	}
}

// TestRunner records what a Runner does: inputs and timers.
func TestRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		rec := record.New(&file, codec{}, record.Full, []byte{salt})
		r := machine.NewRunner(machine.Config[input, output]{
			Machine: rec.Boot(0, 0, nil, &relay{salt: salt}),
			Clock:   machine.RealClock(),
			Apply:   func(*output) {},
		})
		for n := range 100 {
			r.Do(input(fmt.Sprint("input ", n)))
			time.Sleep(time.Duration(n) * 10 * time.Millisecond)
		}
		r.Close()
		if _, err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		res, err := replay(file.Bytes())
		if err != nil || res.Steps != r.Stats().Steps || res.Steps <= 100 {
			t.Errorf("replayed %+v of %+v: %v", res, r.Stats(), err)
		}
	})
}

func TestStepAllocatesNothing(t *testing.T) {
	for name, mode := range modes {
		rec := record.New(io.Discard, codec{}, mode, nil)
		m, in := rec.Boot(1, 0, nil, &relay{}), make(input, 300)
		var out output
		now := time.Duration(0)
		step := func() {
			out.Reset()
			now += time.Millisecond
			m.Step(now, in, &out)
		}
		for range 1000 { // long enough for the buffers to have grown
			step()
		}
		if n := testing.AllocsPerRun(5000, step); n != 0 {
			t.Errorf("%v allocations a step, mode %s", n, name)
		}
	}
}
