package scenario_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/flood"
	"ulnet/lnd/sim/scenario"
)

// record records a run of a file of testdata.
func record(t *testing.T, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	run(t, parseFile(t, name), scenario.Options{Record: &b})
	return b.Bytes()
}

func TestReplayOfATruncatedRecording(t *testing.T) {
	whole := record(t, "network.sim")
	for _, length := range []int{len(whole) - 1, len(whole) - 10, len(whole) * 9 / 10} {
		done, err := scenario.Replay(t.Context(), bytes.NewReader(whole[:length]), protocols, 0)
		if err != nil || !done.Truncated {
			t.Errorf("%d bytes of %d: truncated %v, error %v", length, len(whole), done != nil && done.Truncated, err)
		}
	}
}

func TestReplayOfNoRecording(t *testing.T) {
	whole := record(t, "random.sim")
	for name, b := range map[string][]byte{
		"empty":      nil,
		"text":       []byte("protocol flood\n"),
		"half magic": whole[:5],
		"no header":  whole[:30],
		"odd chunk":  append(bytes.Clone(whole[:len(whole)-2]), 'x', 1, 2),
	} {
		if _, err := scenario.Replay(t.Context(), bytes.NewReader(b), protocols, 0); !errors.Is(err, scenario.ErrRecording) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestReplayTellsADifference: Replay reports an error if the protocol behaves differently than when
// the run was recorded; at level machines the error names the step.
func TestReplayTellsADifference(t *testing.T) {
	for _, level := range flood.Protocol.Levels {
		var b bytes.Buffer
		run(t, parseFile(t, "network.sim"), scenario.Options{Level: level, Record: &b})
		changed := bytes.Replace(b.Bytes(), []byte("set size 1500"), []byte("set size 1501"), 1)
		_, err := scenario.Replay(t.Context(), bytes.NewReader(changed), protocols, 0)
		if err == nil {
			t.Errorf("%v: no error", level)
			continue
		}
		var differs *scenario.DiffError
		switch again := errors.As(err, &differs); {
		case level == scenario.Machines && (again || !strings.Contains(err.Error(), ", node 1 ")):
			t.Errorf("%v: %v: want the step of node 1, which speaks first", level, err)
		case level == scenario.Stacks && (!again || differs.After < 800*time.Millisecond || differs.Before > 2*time.Second):
			t.Errorf("%v: %v: want a difference soon after the first message at 1s", level, err)
		}
	}
}

func FuzzReplay(f *testing.F) {
	text := "protocol flood\nnodes 5\nrun 1s\nat 500ms do 1 tell 1\n"
	file, err := scenario.Parse("fuzz", []byte(text), protocols)
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := scenario.Run(f.Context(), file, scenario.Options{Record: &b}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		// The limit of 17 MiB keeps damaged recordings from making runs with very many nodes.
		_, _ = scenario.Replay(t.Context(), bytes.NewReader(b), protocols, 17<<20)
	})
}

func TestMemoryIsPredicted(t *testing.T) {
	f := parse(t, "large", "protocol flood\nnodes 1000000\nrun 1s\n")
	need := f.Memory(0, f.Nodes)
	_, err := scenario.Run(t.Context(), f, scenario.Options{MemoryLimit: need / 4})
	var refused *scenario.MemoryError
	if !errors.As(err, &refused) {
		t.Fatalf("error %v", err)
	}
	if want := "1000000 nodes need about "; !bytes.HasPrefix([]byte(err.Error()), []byte(want)) || !bytes.Contains([]byte(err.Error()), []byte("--nodes")) {
		t.Errorf("error %q", err)
	}
	if most := refused.Most; f.Memory(0, most) > need/4 || f.Memory(0, most+1) <= need/4 {
		t.Errorf("%d nodes, as the error advises, need %d bytes of %d, or one more would do", most, f.Memory(0, most), need/4)
	}
	if share := sim.Footprint[uint64](f.Nodes, f.Nodes); need < share {
		t.Errorf("predicted %d bytes, of which the simulator alone needs %d", need, share)
	}
}

func TestSeries(t *testing.T) {
	f := parseFile(t, "network.sim")
	res := run(t, f, scenario.Options{SampleEvery: time.Second})
	if len(res.Series) != 1 || len(res.Series[0].At) != 20 {
		t.Fatalf("series %+v: want 20 samples of one", res.Series)
	}
	s := res.Series[0]
	if s.At[19] != 20*time.Second || s.Value[19] != 100 {
		t.Errorf("the last sample is %v at %v: want 100 nodes at 20s", s.Value[19], s.At[19])
	}
	none := run(t, f, scenario.Options{SampleEvery: -1})
	if len(none.Series) != 0 || none.Digest != res.Digest {
		t.Errorf("without samples: %d series, digest %016x instead of %016x", len(none.Series), none.Digest, res.Digest)
	}
}

func TestProgress(t *testing.T) {
	f := parseFile(t, "random.sim")
	var last time.Duration
	calls := 0
	run(t, f, scenario.Options{Progress: func(p scenario.Progress) {
		if calls++; p.Virtual <= last || p.Length != f.Length {
			t.Errorf("progress %v after %v of %v", p.Virtual, last, p.Length)
		}
		last = p.Virtual
	}})
	if last != f.Length || calls < 50 || calls > 110 {
		t.Errorf("%d calls, the last at %v", calls, last)
	}
}

// TestReplayOfAnInterruptedRun: the recording of a run that was stopped is
// replayed as far as it goes, at both levels.
func TestReplayOfAnInterruptedRun(t *testing.T) {
	for _, level := range flood.Protocol.Levels {
		var b bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		f := parseFile(t, "network.sim")
		_, err := scenario.Run(ctx, f, scenario.Options{Level: level, Record: &b, Progress: func(p scenario.Progress) {
			if p.Virtual > p.Length/2 {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
		done, err := scenario.Replay(t.Context(), &b, protocols, 0)
		if err != nil || !done.Truncated || done.Virtual <= f.Length/2 || done.Steps == 0 {
			t.Errorf("%v: %+v, error %v", level, done, err)
		}
	}
}
