package sim

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ulnet/lnet/machine/record"
)

type intCodec struct{}

func (intCodec) Append(b []byte, m int) []byte { return binary.AppendVarint(b, int64(m)) }

func (intCodec) Parse(b []byte) (int, error) {
	v, n := binary.Varint(b)
	if n != len(b) || n == 0 {
		return 0, fmt.Errorf("no number: %x", b)
	}
	return int(v), nil
}

// recorded runs a plan and records it.
func recorded(t interface{ Fatal(...any) }, p plan, seed uint64, mode record.Mode) (*Network[int], []byte) {
	var file bytes.Buffer
	cfg := planConfig(seed)
	cfg.Recorder = NewRecorder(&file, intCodec{}, mode, []byte("config"))
	n, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.drive(n); err != nil {
		t.Fatal(err)
	}
	if err := cfg.Recorder.Close(); err != nil {
		t.Fatal(err)
	}
	return n, file.Bytes()
}

func replayPlan(file []byte) (Replayed, error) {
	cfg := planConfig(0)
	return Replay(bytes.NewReader(file), intCodec{}, cfg.Hash, func(config []byte) (func(Incarnation, Program[int]) Program[int], error) {
		if string(config) != "config" {
			return nil, errors.New("wrong config")
		}
		return cfg.Boot, nil
	})
}

// A run under any faults has the same digest with a recorder, without, and
// when it is replayed.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, seed := drawPlan(t), rapid.Uint64().Draw(t, "seed")
		mode := rapid.SampledFrom([]record.Mode{record.Full, record.Digests}).Draw(t, "mode")
		n, file := recorded(t, p, seed, mode)
		plain := newPlanned(t, seed)
		if err := p.drive(plain); err != nil {
			t.Fatal(err)
		}
		got, err := replayPlan(file)
		if err != nil || got.Digest != n.Digest() || got.Digest != plain.Digest() || got.Steps != n.Stats().Steps || got.Truncated {
			t.Fatalf("replayed %+v, %v, want %d steps, digest %016x; unrecorded %016x",
				got, err, n.Stats().Steps, n.Digest(), plain.Digest())
		}
	})
}

// A program that has changed since it was recorded is found in its first step
// that differs.
func TestReplayFinds(t *testing.T) {
	var at Step
	n, file := recorded(t, nil, 1, record.Full)
	if _, ok := n.Program(2).(*chatter); !ok {
		t.Error("the recorder shows")
	}
	again := newPlanned(t, 1)
	again.Observe(func(s Step) {
		if at.Number == 0 && s.Node == 2 && s.Sends > 0 {
			at = s
		}
	})
	if err := again.Run(planLength); err != nil {
		t.Fatal(err)
	}
	cfg := planConfig(0)
	_, err := Replay(bytes.NewReader(file), intCodec{}, cfg.Hash, func([]byte) (func(Incarnation, Program[int]) Program[int], error) {
		return func(l Incarnation, kept Program[int]) Program[int] {
			p := cfg.Boot(l, kept)
			return script[int](func(now time.Duration, in Input[int], out *Output[int]) time.Duration {
				wake := p.Step(now, in, out)
				if l.Node == 2 && len(out.Sends) > 0 {
					out.Sends[0].Msg++
				}
				return wake
			})
		}, nil
	})
	e, ok := errors.AsType[*ReplayError](err)
	if !ok || at.Number == 0 || e.Diff.Step != at.Number || e.Diff.Now != at.At || e.Node != 2 || e.Incarnation != 0 {
		t.Fatalf("got %v, want step %d of node 3", err, at.Number)
	}
	if want := fmt.Sprintf("step %d, node 3 in incarnation 0 at %v: answer from byte ", at.Number, at.At); !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %q, want %q…", err, want)
	}
}

func TestReplayErrors(t *testing.T) {
	_, file := recorded(t, nil, 1, record.Digests)
	if got, err := replayPlan(file[:len(file)-1]); err != nil || !got.Truncated {
		t.Errorf("truncated: %+v, %v", got, err)
	}
	var other bytes.Buffer
	r := record.New(&other, turns[int]{intCodec{}}, record.Full, []byte("config"))
	r.Boot(1, 0, []byte("of something else"), nil)
	if _, err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := replayPlan(other.Bytes()); !errors.Is(err, errNoSimulation) {
		t.Errorf("a recording of something else: %v", err)
	}
	other.Reset()
	own := NewRecorder(&other, intCodec{}, record.Full, []byte("config"))
	own.index = make([]int32, 1)
	own.step(0, 0, script[int](func(time.Duration, Input[int], *Output[int]) time.Duration { return 1 }), 0, &Input[int]{}, &Output[int]{})
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := replayPlan(other.Bytes()); !errors.Is(err, errNoSimulation) {
		t.Errorf("a step of a node that has no life: %v", err)
	}
}

func TestInputForms(t *testing.T) {
	c := turns[int]{intCodec{}}
	for _, in := range []Input[int]{
		{},
		{Kind: Start},
		{Kind: Message, From: 1 << 30, Msg: -5},
		{Kind: Refused, Msg: 5},
		{Kind: Reset, From: 7},
		{Kind: Command, Text: "do it"},
	} {
		for _, turn := range []turn[int]{{0, 0, in}, {1<<31 - 1, never, in}} {
			b := c.AppendIn(nil, turn)
			if got, err := c.ParseIn(b); got != turn || err != nil {
				t.Errorf("%v: %x: %v, %v", turn, b, got, err)
			}
		}
	}
	for _, b := range []string{
		"", "\x01", "\x80\x80\x80\x80\x08\x01", "\x01\x80",
		"\x01\x01\x01x", "\x01\x01\x02", "\x01\x01\x02\x80", "\x01\x01\x02\x80\x80\x80\x80\x08\x01", "\x01\x01\x02\x01",
		"\x01\x01\x02\x01\x80", "\x01\x01\x04", "\x01\x01\x04\x01x", "\x01\x01\x06", "\x01\x01\xff",
	} {
		if in, err := c.ParseIn([]byte(b)); err == nil {
			t.Errorf("%q is %v", b, in)
		}
	}
}

func FuzzInput(f *testing.F) {
	c := turns[int]{intCodec{}}
	for k := Timer; k <= Command; k++ {
		f.Add(c.AppendIn(nil, turn[int]{5, 1e9, Input[int]{Kind: k, From: 300, Msg: 1, Text: "x"}}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := c.ParseIn(b)
		if err != nil {
			return
		}
		again, err := c.ParseIn(c.AppendIn(nil, in))
		if err != nil || again != in {
			t.Errorf("%v became %v, %v", in, again, err)
		}
	})
}

// Every field of an output is part of its recorded form.
func TestOutputForm(t *testing.T) {
	full := func() *Output[int] {
		return &Output[int]{
			Sends:  []Send[int]{{To: 1, Msg: 2, Size: 3}, {To: 4, Msg: 5, Size: 6, Priority: true}},
			Watch:  []NodeID{7},
			Ignore: []NodeID{8},
			Events: []Event{{Kind: 9, Subject: 10, Value: 11, Text: "12"}},
		}
	}
	c := turns[int]{intCodec{}}
	forms := [][]byte{c.AppendOut(nil, &answer[int]{*full(), 2})}
	var digests []digest
	for _, change := range []func(o *Output[int]){
		func(*Output[int]) {},
		func(o *Output[int]) { o.Sends[1].To++ },
		func(o *Output[int]) { o.Sends[1].Msg++ },
		func(o *Output[int]) { o.Sends[1].Size++ },
		func(o *Output[int]) { o.Sends[1].Priority = false },
		func(o *Output[int]) { o.Sends = o.Sends[:1] },
		func(o *Output[int]) { o.Watch, o.Ignore = o.Ignore, o.Watch },
		func(o *Output[int]) { o.Watch = nil },
		func(o *Output[int]) { o.Ignore[0]++ },
		func(o *Output[int]) { o.Events[0].Kind++ },
		func(o *Output[int]) { o.Events[0].Subject++ },
		func(o *Output[int]) { o.Events[0].Value++ },
		func(o *Output[int]) { o.Events[0].Text = "13" },
	} {
		o := full()
		change(o)
		form := c.AppendOut(nil, &answer[int]{*o, 1})
		var d digest
		digestStep(&d, 0, 0, 1, &Input[int]{}, o, func(m *int) uint64 { return uint64(*m) })
		if slices.ContainsFunc(forms, func(b []byte) bool { return bytes.Equal(b, form) }) || slices.Contains(digests, d) {
			t.Errorf("change %d does not show", len(digests))
		}
		forms, digests = append(forms, form), append(digests, d)
	}
}

type rumourCodec struct{}

func (rumourCodec) Append(b []byte, m rumour) []byte { return append(b, m[:]...) }

func (rumourCodec) Parse(b []byte) (m rumour, err error) {
	if copy(m[:], b) != len(b) {
		return m, errors.New("too long")
	}
	return m, nil
}

// BenchmarkReplay replays a recording of the run of BenchmarkEvents.
func BenchmarkReplay(b *testing.B) {
	var file bytes.Buffer
	cfg := tickerConfig(100_000)
	cfg.Recorder = NewRecorder(&file, rumourCodec{}, record.Digests, nil)
	n, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	perStep := func(f func()) float64 {
		begin := time.Now()
		f()
		return float64(time.Since(begin).Nanoseconds()) / float64(n.Stats().Steps)
	}
	recording := perStep(func() { _, _ = n.RunEvents(2_000_000) })
	if err := cfg.Recorder.Close(); err != nil {
		b.Fatal(err)
	}
	plain := newTickers(b, 100_000)
	running := perStep(func() { _, _ = plain.RunEvents(2_000_000) })
	cfg.Recorder = nil
	for b.Loop() {
		res, err := Replay(bytes.NewReader(file.Bytes()), rumourCodec{}, nil, func([]byte) (func(Incarnation, Program[rumour]) Program[rumour], error) {
			return cfg.Boot, nil
		})
		if err != nil || res.Digest != n.Digest() {
			b.Fatal(res, err)
		}
	}
	b.ReportMetric(running, "run-ns/step")
	b.ReportMetric(recording, "recording-ns/step")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n.Stats().Steps), "replay-ns/step")
}
